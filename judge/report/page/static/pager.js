// From one page of a list to the others.

import { el } from "./dom.js";

// `turn` is given the number of studies before the page that is asked for.
export function pager({ offset, n, limit }, turn) {
  if (n <= limit) return "";
  const step = (text, to, possible) => el("button", {
    type: "button", "data-step": text, disabled: !possible, on: { click: () => turn(to) },
  }, text);
  const end = Math.min(offset + limit, n);
  return el("nav", { class: "pager", "aria-label": "Pages of the list" },
    step("First", 0, offset > 0),
    step("Previous", Math.max(0, offset - limit), offset > 0),
    el("span", { class: "small" }, `${offset + 1} to ${end} of ${n.toLocaleString("en")}`),
    step("Next", offset + limit, end < n),
    step("Last", Math.floor((n - 1) / limit) * limit, end < n));
}
