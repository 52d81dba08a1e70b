// What a run comes to: facts, figures, tables, and what its readers made of it.

import { el, fact, said } from "./dom.js";
import { interval, ratesFigure, scoresFigure, tallyFigure } from "./figures.js";
import { NOTHING, count, number, rate } from "./words.js";

export function overviewSection({ view, files }, labels) {
  const { figures } = view;
  return el("section", { id: "overview", "aria-labelledby": "overview-title" },
    el("h2", { id: "overview-title" }, "The run"),
    el("dl", { class: "facts" }, view.facts.map(({ name, value }) => fact(name, said(value)))),
    table(view.tables[0]),
    el("div", { class: "figures" },
      ...figures.rates.map(ratesFigure),
      figures.tally ? tallyFigure(figures.tally, labels) : null,
      ...figures.scores.map(scoresFigure)),
    el("div", { id: "readers" }),
    el("details", {}, el("summary", {}, "More tables and the signature"),
      ...view.tables.slice(1).map(table),
      el("h3", {}, "Signature"),
      el("p", { class: "mono" }, said(view.signature)),
      files.length ? el("p", {}, "This run as ", ...files.flatMap(({ name, address }, at) => [
        at ? ", " : "", el("a", { href: address, download: "" }, name)])) : null),
  );
}

export function table({ title, head, rows, n_left: left }) {
  const side = (at) => (at < left ? "words" : "numbers");
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
    el("table", {},
      el("caption", {}, title),
      el("thead", {}, el("tr", {}, head.map((name, at) =>
        (name ? el("th", { scope: "col", class: side(at) }, said(name)) : el("td"))))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, at) =>
        (at === 0 ? el("th", { scope: "row" }, said(cell))
          : el("td", { class: side(at) }, said(cell)))))))));
}

// The judge's precision among the errors that readers have marked, and their agreement.
export function readersSection(statistics, labels, file) {
  if (!statistics || !(statistics.n_reviewed_errors || statistics.missed)) {
    return el("p", { class: "small" }, "No error of this run has been reviewed yet.");
  }
  const name = (code) => (code === "all" ? "all" : labels.codes.labelOf.get(code).text);
  return el("div", {},
    el("h3", {}, "What readers made of it"),
    el("p", {}, `${count(statistics.n_reviewed_errors, "error")} reviewed`,
      statistics.n_studies ? ` in ${count(statistics.n_studies, "study", "studies")}` : "",
      `, ${count(statistics.missed ?? 0, "missed error")} added, by `,
      ...(statistics.readers ?? []).flatMap((reader, at) => [at ? ", " : "", said(reader)]), "."),
    el("figure", { class: "figure" },
      el("figcaption", {}, "The judge's precision among reviewed errors"),
      el("ul", { class: "bars" }, statistics.precision.filter(({ n }) => n).map((row) => el("li", {},
        el("span", { class: "bar-name" }, name(row.code)), interval(row),
        el("span", { class: "bar-value" }, rate(row)))))),
    statistics.kappa?.length ? table({
      title: "Agreement of two readers (Cohen's kappa)",
      head: ["readers", "errors both reviewed", "kappa"],
      n_left: 1,
      rows: statistics.kappa.map((pair) => [pair.readers.join(" and "), String(pair.n),
        pair.kappa === null ? NOTHING : number(pair.kappa, 2)]),
    }) : null,
    statistics.note ? el("p", { class: "small" }, statistics.note) : null,
    file ? el("p", {}, el("a", { href: file, download: "" }, "All reviews as CSV")) : null,
  );
}
