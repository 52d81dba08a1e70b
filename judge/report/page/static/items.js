// The items that a judge wrote down of a study: their cards, and their words in the reports.
// An item is shown as `{ key, name, item }`: its key is its own on the page, its name its number.

import { clipped, el, goTo, said } from "./dom.js";
import { capital, wordsOf } from "./words.js";

export function itemCard({ key, name, item }, labels, sides, ...more) {
  const grade = labels.grade(item);
  return el("li", {
    id: `error-${key}`, class: `error tone-${grade.tone}`, tabindex: "-1", "data-errors": key,
  },
  el("p", { class: "error-head" },
    el("span", { class: "error-number" },
      el("span", { class: "unseen" }, `${capital(labels.kind(item.kind).label)} `), name),
    el("strong", { class: `severity tone-${grade.tone}` }, grade.label),
    ...labels.tags(item).map((text) => el("span", { class: "category" }, text)),
    el("span", { class: "small" }, sides.length
      ? `marked in the ${sides.join(" and the ")}` : item.text ? "its words are in neither report" : null)),
  el("p", { id: `error-${key}-words`, class: "text", dir: "auto" }, ...clipped(wordsOf(item), said)),
  ...(item.quotes ?? []).map((text) => el("p", { class: "small", dir: "auto" }, ...clipped(`\u201c${text}\u201d`, said))),
  ...more);
}

// The reports in which the words of the item with the number `at` are marked.
export function sidesOf(view, at) {
  return ["reference", "candidate"].filter((side) => view[side].some(({ errors }) => errors.includes(at)));
}

export function differing({ differs }, { grades }) {
  return differs.map(({ grade, listed, stated }) => el("p", { class: "small" },
    `The answer's own counts say ${stated} ${grades.labelOf.get(grade).label}; it lists ${listed}. The counts hold.`));
}

// Words that `errors`, items as they are shown, speak of.
export function marked(text, errors, labels) {
  if (!errors.length) return text;
  return el("mark", {
    class: `tone-${labels.gravest(errors.map(({ item }) => item))}`, tabindex: "0",
    "data-errors": errors.map(({ key }) => key).join(" "),
    "aria-describedby": errors.map(({ key }) => `error-${key}-words`).join(" "),
  }, el("bdi", {}, text), el("sup", { "aria-hidden": "true", "data-numbers": errors.map(({ name }) => name).join(",") }));
}

// Lights up an item wherever it shows: its words in both reports, its line, its card.
function light(root, keys) {
  for (const element of root.querySelectorAll("[data-errors]")) {
    const own = element.dataset.errors.split(" ");
    element.classList.toggle("lit", own.some((key) => keys.includes(key)));
  }
}

// A click on what belongs to an item leads to its card.
export function linkMarks(root) {
  const over = (event) => {
    const element = event.target.closest?.("[data-errors]");
    light(root, element ? element.dataset.errors.split(" ") : []);
  };
  root.addEventListener("pointerover", over);
  root.addEventListener("focusin", over);
  root.addEventListener("pointerleave", () => light(root, []));
  root.addEventListener("click", (event) => {
    const link = event.target.closest("[data-to]");
    const mark = event.target.closest("mark");
    if (!link && !mark) return;
    event.preventDefault();
    focusError(root, link ? link.dataset.to : mark.dataset.errors.split(" ")[0]);
  });
}

export function focusError(root, key) {
  goTo(root.querySelector(`#error-${key}`), "nearest");
}
