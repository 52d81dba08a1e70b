// The run's figures, drawn with boxes. Every number in them is also written out.

import { el, said } from "./dom.js";
import { capital, count, number, rate } from "./words.js";

export function ratesFigure(rows, key, title) {
  const drawn = rows.filter((row) => row[key]);
  if (!drawn.length) return null;
  return el("figure", { class: "figure" },
    el("figcaption", {}, title),
    el("ul", { class: "bars" }, drawn.map((row) => el("li", {},
      el("span", { class: "bar-name" }, said(row.group)),
      interval(row[key]),
      el("span", { class: "bar-value" }, rate(row[key])),
    ))),
    el("p", { class: "small" }, "Share of scored studies; the line is the 95% Wilson interval."),
  );
}

export function interval(value) {
  const track = el("span", { class: "track", "aria-hidden": "true" });
  if (value.rate !== null) {
    track.append(
      el("span", { class: "fill", style: { width: `${100 * value.rate}%` } }),
      el("span", {
        class: "whisker",
        style: { left: `${100 * value.low}%`, width: `${100 * (value.high - value.low)}%` },
      }),
    );
  }
  return track;
}

export function errorsFigure(rows, labels) {
  const totals = rows.map((row) => labels.levels.reduce((sum, { name }) => sum + row.levels[name], 0));
  const most = Math.max(1, ...totals);
  return el("figure", { class: "figure" },
    el("figcaption", {}, "Errors by category and severity"),
    el("ul", { class: "legend" }, labels.levels.map((level) =>
      el("li", {}, el("span", { class: `swatch tone-${level.tone}`, "aria-hidden": "true" }), level.label))),
    el("ul", { class: "bars" }, rows.map((row, at) => el("li", {},
      el("span", { class: "bar-name" }, labels.category(row.category)),
      el("span", { class: "track", "aria-hidden": "true" }, labels.levels.map((level) => el("span", {
        class: `part tone-${level.tone}`,
        style: { width: `${(100 * row.levels[level.name]) / most}%` },
      }))),
      el("span", { class: "bar-value" }, totals[at] ? byLevel(row, labels) : "0"),
    ))),
  );
}

function byLevel(row, labels) {
  const parts = labels.levels.filter((level) => row.levels[level.name]);
  return parts.map((level) => `${level.label}: ${row.levels[level.name]}`).join("; ");
}

export function scoresFigure(histogram) {
  const most = Math.max(1, ...histogram.bins.map((bin) => bin.n));
  const name = (bin) => (bin.low === bin.high
    ? String(bin.low)
    : `${number(bin.low, 2)} to ${number(bin.high, 2)}`);
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
