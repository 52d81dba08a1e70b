// The run's figures, drawn with boxes. Every number in them is also written out.

import { el, said } from "./dom.js";
import { capital, count, number, rate } from "./words.js";

export function ratesFigure({ label, definition, rows }) {
  return el("figure", { class: "figure" },
    el("figcaption", {}, `Studies with ${definition ?? label}`),
    el("ul", { class: "bars" }, rows.map((row) => el("li", {},
      el("span", { class: "bar-name" }, said(row.group)),
      interval(row),
      el("span", { class: "bar-value" }, rate(row)),
    ))),
    el("p", { class: "small" }, "Share of scored studies; the line is the 95% Wilson interval."),
  );
}

export function interval(value) {
  const track = el("span", { class: "track", "aria-hidden": "true" });
  if (value.value !== null) {
    track.append(
      el("span", { class: "fill", style: { width: `${100 * value.value}%` } }),
      el("span", {
        class: "whisker",
        style: { left: `${100 * value.low}%`, width: `${100 * (value.high - value.low)}%` },
      }),
    );
  }
  return track;
}

export function tallyFigure({ title, rows, columns, counts }, labels) {
  const [named, parts] = [labels.facet(rows), labels.facet(columns).labels];
  const totals = counts.map(({ n }) => parts.reduce((sum, { name }) => sum + n[name], 0));
  const most = Math.max(1, ...totals);
  return el("figure", { class: "figure" },
    el("figcaption", {}, `${title} and ${labels.facet(columns).label}`),
    el("ul", { class: "legend" }, parts.map(({ label, tone }) =>
      el("li", {}, el("span", { class: `swatch tone-${tone}`, "aria-hidden": "true" }), label))),
    el("ul", { class: "bars" }, counts.map(({ name, n }, at) => el("li", {},
      el("span", { class: "bar-name" }, named.labelOf.get(name).text),
      el("span", { class: "track", "aria-hidden": "true" }, parts.map((part) => el("span", {
        class: `part tone-${part.tone}`,
        style: { width: `${(100 * n[part.name]) / most}%` },
      }))),
      el("span", { class: "bar-value" }, totals[at] ? byPart(n, parts) : "0"),
    ))),
  );
}

function byPart(n, parts) {
  return parts.filter(({ name }) => n[name]).map(({ name, label }) => `${label}: ${n[name]}`).join("; ");
}

export function scoresFigure(histogram) {
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
        el("span", { class: "column-fill", style: { height: `${(100 * bin.n) / most}%` } }),
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
