// The correlation of metrics as a table, and the drawn figures.

import { el, said } from "./dom.js";
import { sideways } from "./parts.js";
import { printed } from "./words.js";

const NAMES = { pearson: "Pearson", spearman: "Spearman", kendall: "Kendall's tau-b" };

export function correlationSection({ overview }) {
  const found = overview.correlations;
  if (!found) return null;
  // A minus stays with its metric.
  const labels = found.labels.map((label) => label.replace(/^− /, "−\u00a0"));
  return el("section", { id: "correlations", "aria-labelledby": "correlations-title" },
    el("h2", { id: "correlations-title" }, "Do the metrics agree?"),
    el("p", { class: "small" }, "Over the reports of all models that have both values.",
      found.labels.some((label) => label.startsWith("−"))
        ? " − before a metric: less is better; its values are negated, so that agreement is positive." : null),
    Object.entries(NAMES).map(([name, title], at) => el("details", { open: at === 0 },
      el("summary", {}, title),
      ...sideways(`${title} correlation`,
        el("table", {},
          el("thead", {}, el("tr", {}, el("td", {}), labels.map((label) => el("th", { scope: "col", class: "numbers" }, said(label))))),
          el("tbody", {}, labels.map((label, row) => el("tr", {},
            el("th", { scope: "row" }, said(label)),
            found[name][row].map((value, column) => el("td", {
              class: "numbers", title: `n = ${found.n[row][column].toLocaleString("en")}`,
            }, printed(value)))))))))));
}

export function figuresSection() {
  return el("section", { id: "figures", "aria-labelledby": "figures-title" },
    el("h2", { id: "figures-title" }, "Figures"), el("p", { class: "small" }, "Drawing ..."));
}

// The tables are there before the figures are.
export async function drawFigures(store) {
  const section = document.getElementById("figures");
  const word = section.querySelector("p");
  const figures = await store.figures().catch((error) => { word.textContent = error.message; return null; });
  if (!figures) return;
  if (!figures.length) {
    word.textContent = "None: matplotlib, with which they are drawn, was not installed: pip install 'matplotlib>=3.8' (the extra plots).";
    return;
  }
  // Fetched when they are nearly in sight: a dozen figures take a second to lay out.
  const near = new IntersectionObserver((seen) => seen.filter(({ isIntersecting }) => isIntersecting).forEach(async ({ target }) => {
    near.unobserve(target);
    target.src = await store.figure(Number(target.dataset.figure));
  }), { rootMargin: "300px" });
  word.replaceWith(el("div", { class: "figures" }, figures.map((figure, at) => {
    const image = el("img", { alt: `${figure.title}. ${figure.caption}`, class: "drawn", "data-figure": String(at) });
    image.addEventListener("error", () => image.replaceWith(el("p", {}, "The figure cannot be had; load the page anew.")));
    near.observe(image);
    return el("figure", { class: "figure" }, el("h3", {}, said(figure.title)),
      ...sideways(figure.title, image), el("figcaption", { class: "small" }, said(figure.caption)));
  })));
}
