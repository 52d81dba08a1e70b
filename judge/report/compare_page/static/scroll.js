// What may be wider than the page: it scrolls sideways by itself, and says so.

import { el } from "./dom.js";

export function sideways(label, ...content) {
  const hint = el("p", { class: "more small", "aria-hidden": "true", hidden: true }, "More to the right: scroll sideways →");
  const box = el("div", {
    class: "scroll", tabindex: "0", role: "region", "aria-label": label, on: { focusin: reveal },
  }, ...content);
  const measure = () => { hint.hidden = box.scrollWidth <= box.clientWidth + 8; };
  // After the layout: what is measured must not be changed while it is measured.
  const watch = new ResizeObserver(() => requestAnimationFrame(measure));
  [box, ...box.children].forEach((part) => watch.observe(part));
  return [hint, box];
}

// Brings what the keyboard reaches out from behind the column that stays in sight. Not what
// the mouse reaches: it would move away between the press and the click.
function reveal({ target, currentTarget }) {
  if (target === currentTarget || !target.matches(":focus-visible")) return;
  target.scrollIntoView({ inline: "center", block: "nearest" });
}
