// The marks of a study, a line each.

import { el, isolated } from "./dom.js";
import { shownAs } from "./draft.js";

const EDITS = { change: "changed to", delete: "deleted", insert: "put in" };

// `act` has what a card does: `choose`, `remove`; `at` is the chosen one.
export function cards(kinds, items, at, act) {
  if (!items.length) return el("p", { class: "small none" }, "Nothing is marked yet.");
  return el("ol", { class: "cards", "aria-label": "Marks" }, items.map((item, number) => {
    const { tone, grade, tags } = shownAs(kinds, item);
    const words = wordsOf(item);
    return el("li", {
      id: `card-${number}`, class: `card tone-${tone}`, tabindex: "-1", "aria-current": number === at ? "true" : null,
      on: { focus: () => act.choose(number), click: () => act.choose(number) },
    },
    el("span", { class: "error-number" }, String(number + 1)),
    el("strong", { class: `severity tone-${tone}` }, grade),
    el("span", { class: "tags" }, tags.join(", ")),
    el("span", { class: "of", title: words }, el("span", { class: "small" }, whereOf(item)), " ", isolated(words)),
    el("button", {
      type: "button", class: "quiet", "aria-label": `Delete mark ${number + 1}`, "aria-keyshortcuts": "Shift+X",
      on: { click: (event) => { event.stopPropagation(); act.remove(number); } },
    }, "✕"));
  }));
}

export function wordsOf(item) {
  if (item.edit && item.edit.kind !== "delete") return item.edit.corrected;
  return item.text || "(no words)";
}

function whereOf({ edit, side }) {
  if (edit) return edit.kind === "insert" ? EDITS.insert : `line ${edit.line} ${EDITS[edit.kind]}`;
  return side ? `${side}:` : "";
}
