// What several sections are made of: lists to choose from, and what may be wider than the page.

import { el, said } from "./dom.js";

const MOST = 34;
const END = 14;

// Beginning and end say more than the middle does; names that would read alike stay whole.
function shortened(names) {
  const short = names.map((name) => {
    const letters = [...name];
    return letters.length <= MOST ? name : `${letters.slice(0, MOST - END - 1).join("")}…${letters.slice(-END).join("")}`;
  });
  return short.map((text, at) => (short.indexOf(text) === short.lastIndexOf(text) ? text : names[at]));
}

// One option a name, a long one shortened in the middle; `valueOf` and `more`, which is said
// after it, take its place.
export function options(names, valueOf, more = () => "") {
  return shortened(names).map((text, at) => el("option", {
    value: valueOf(at), title: text === names[at] ? null : names[at],
  }, text + more(at)));
}

// Scrolls sideways by itself, and says so.
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

// A table as it is printed in a terminal; its first columns are words.
export function printedTable({ title, head, rows, n_left: left }) {
  const kind = (at) => (at < left ? "words" : "numbers");
  return el("div", {}, ...sideways(title, el("table", {},
    el("caption", {}, title),
    el("thead", {}, el("tr", {}, head.map((text, at) => el("th", { scope: "col", class: kind(at) }, said(text))))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((text, at) =>
      el(at ? "td" : "th", { class: kind(at), scope: at ? null : "row" }, said(text)))))))));
}

// Brings what the keyboard reaches out from behind the column that stays in sight. Not what
// the mouse reaches: it would move away between the press and the click.
function reveal({ target, currentTarget }) {
  if (target === currentTarget || !target.matches(":focus-visible")) return;
  target.scrollIntoView({ inline: "center", block: "nearest" });
}
