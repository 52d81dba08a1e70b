// What a run comes to: facts, figures, tables, and what its readers made of it.

import { el, fact, said } from "./dom.js";
import { NOTHING, capital, count, number, rate } from "./words.js";

export function overviewSection({ view, files }, labels) {
  const { figures } = view;
  return el("section", { id: "overview", "aria-labelledby": "overview-title" },
    el("h2", { id: "overview-title" }, "The run"),
    el("dl", { class: "facts" }, view.facts.map(({ name, value }) => fact(name, said(value)))),
    table(view.tables[0]),
    el("div", { class: "figures" },
      ...figures.rates.map(ratesFigure),
      ...figures.scores.map(scoresFigure),
      figures.tally ? tallyFigure(figures.tally, labels) : null),
    el("div", { id: "readers" }),
    el("details", {}, el("summary", {}, "More tables and the signature"),
      ...view.tables.slice(1).map(table),
      el("h3", {}, "Signature"),
      el("p", { class: "mono" }, said(view.signature)),
      files.length ? el("p", {}, "This run as ", ...files.flatMap(({ name, address }, at) => [
        at ? ", " : "", el("a", { href: address, download: "" }, name)])) : null),
  );
}

function table({ title, head, rows, n_left: left }) {
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
      bars(statistics.precision.filter(({ n }) => n).map((row) => [name(row.code), interval(row), rate(row)]))),
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

// The figures are drawn with boxes; every number in them is also written out.
function bars(rows) {
  return el("ul", { class: "bars" }, rows.map(([name, bar, value]) => el("li", {},
    el("span", { class: "bar-name" }, name), bar, el("span", { class: "bar-value" }, value))));
}

function ratesFigure({ label, definition, rows }) {
  return el("figure", { class: "figure" },
    el("figcaption", {}, `Studies with ${definition ?? label}`),
    bars(rows.map((row) => [said(row.group), interval(row), rate(row)])),
    el("p", { class: "small" }, "Share of scored studies; the line is the 95% Wilson interval."),
  );
}

function interval(value) {
  return el("span", { class: "track", "aria-hidden": "true" }, value.value === null ? null : [
    el("span", { class: "fill", style: { width: `${100 * value.value}%` } }),
    el("span", {
      class: "whisker", style: { left: `${100 * value.low}%`, width: `${100 * (value.high - value.low)}%` },
    }),
  ]);
}

function tallyFigure({ title, rows, columns, counts }, labels) {
  const [named, parts] = [labels.facet(rows), labels.facet(columns).labels];
  const totals = counts.map(({ n }) => parts.reduce((sum, { name }) => sum + n[name], 0));
  const most = Math.max(1, ...totals);
  return el("figure", { class: "figure" },
    el("figcaption", {}, `${title} and ${labels.facet(columns).label}`),
    el("ul", { class: "legend" }, parts.map(({ label, tone }) =>
      el("li", {}, el("span", { class: `swatch tone-${tone}`, "aria-hidden": "true" }), label))),
    bars(counts.map(({ name, n }, at) => [
      named.labelOf.get(name).text,
      el("span", { class: "track", "aria-hidden": "true" }, parts.map((part) => el("span", {
        class: `part tone-${part.tone}`, style: { width: `${(100 * n[part.name]) / most}%` },
      }))),
      totals[at] ? byPart(n, parts) : parts.every(({ name }) => n[name] === null) ? NOTHING : "0",
    ])),
  );
}

function byPart(n, parts) {
  return parts.filter(({ name }) => n[name]).map(({ name, label }) => `${label}: ${n[name]}`).join("; ");
}

function scoresFigure(histogram) {
  const most = Math.max(1, ...histogram.bins.map((bin) => bin.n));
  const name = (bin) => (bin.low === bin.high
    ? String(bin.low)
    : histogram.whole ? `${bin.low} to ${bin.high}` : `${number(bin.low, 2)} to ${number(bin.high, 2)}`);
  const few = histogram.bins.length <= 12;
  const direction = histogram.higher_is_better ? "higher is better" : "lower is better";
  const ends = histogram.bins.length ? [histogram.bins[0].low, histogram.bins.at(-1).high] : [];
  return el("figure", { class: "figure" },
    el("figcaption", {}, `${capital(histogram.label)}, ${count(histogram.n, "scored study", "scored studies")}`),
    el("div", { class: "histogram", role: "img", "aria-label": described(histogram, name) },
      histogram.bins.map((bin) => el("span", { class: "column", title: `${name(bin)}: ${bin.n}` },
        el("span", { class: "column-n" }, bin.n ? String(bin.n) : ""),
        el("span", { class: "column-fill", style: { "--share": bin.n / most } }),
        few ? el("span", { class: "column-name" }, name(bin)) : null,
      ))),
    few ? null : el("p", { class: "axis small" }, ...ends.map((end) => el("span", {}, number(end, 1)))),
    el("p", { class: "small" }, `Studies by score; ${direction}.`),
  );
}

function described(histogram, name) {
  const parts = histogram.bins.filter((bin) => bin.n).map((bin) => `${name(bin)}: ${bin.n}`);
  return `Studies by ${histogram.label}. ${parts.join("; ") || "none scored"}`;
}
