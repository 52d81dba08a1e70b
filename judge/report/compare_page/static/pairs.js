// The tests of one model against each other one.

import { el, option, said } from "./dom.js";
import { number } from "./words.js";
import { sideways } from "./scroll.js";

export function pairsSection(app) {
  return el("section", { id: "pairs", "aria-labelledby": "pairs-title" },
    el("h2", { id: "pairs-title" }, "Is it real?"),
    el("div", { class: "filters controls" },
      el("div", { class: "control" },
        el("label", { for: "pairs-model" }, "Model"),
        el("select", { id: "pairs-model", on: { change: ({ target }) => app.set({ tested: Number(target.value) }) } },
          app.overview.models.map((name, at) => option(String(at), name))))),
    el("div", { id: "pairs-table" }));
}

export function drawPairs(app) {
  const { overview, group, state } = app;
  const box = document.getElementById("pairs-table");
  document.getElementById("pairs-model").value = String(state.tested);
  const found = (group.tests[state.metric] ?? []).filter(([a, b]) => a === state.tested || b === state.tested);
  if (!found.length) {
    box.replaceChildren(el("p", { class: "empty" }, overview.models.length < 2
      ? "There is no other model to compare with."
      : untested(app)));
    return;
  }
  const metric = app.metric;
  const rows = found.map((test) => turned(test, state.tested));
  const { n, seed } = overview.resampling;
  box.replaceChildren(
    el("p", { class: "title" }, said(overview.models[state.tested]), " less the other, ", said(metric.label),
      metric.higher ? " (higher is better), " : " (lower is better), ", said(group.name)),
    ...sideways("Tests of difference",
      el("table", { class: "studies" },
        el("caption", { class: "unseen" }, "Differences from every other model"),
        el("thead", {}, el("tr", {},
          ["Other model", "Difference", "95% interval", "p", "p (Holm)", "", "Studies", "Where?"].map((text, at) => el("th", {
            scope: "col", class: at ? "numbers" : null,
          }, text)))),
        el("tbody", {}, rows.map((row) => testRow(row, metric, app))))),
    el("p", { class: "small" },
      `Paired on the studies scored for both. Interval: ${n.toLocaleString("en")} bootstrap resamples, seed ${seed}. `
      + "p: sign flips for means, McNemar's mid-p for rates; Holm's correction over all pairs of the metric and group. "
      + "* marks a corrected p below 0.05."));
}

function untested({ overview, group, metric, store }) {
  if (!overview.resampling) return "Nothing was tested: this comparison was made without tests.";
  if (Object.keys(group.tests).length) return `No difference could be tested in ${group.name} by ${metric.label}.`;
  return `Nothing was tested for ${group.name} alone. ${store.howToTest(Object.keys(group.key).join(","))}`;
}

function turned([a, b, n, difference, low, high, p, holm, method], model) {
  if (a === model) return { other: b, n, difference, low, high, p, holm, method };
  const minus = (value) => (value === null ? null : 0 - value);
  return { other: a, n, difference: minus(difference), low: minus(high), high: minus(low), p, holm, method };
}

function testRow(row, metric, app) {
  const figure = (value) => (value === null ? number(null)
    : metric.kind === "rate" ? `${signed(100 * value, 1)} points` : signed(value, 3));
  const interval = row.low === null ? number(null) : metric.kind === "rate"
    ? `[${signed(100 * row.low, 1)}, ${signed(100 * row.high, 1)}]` : `[${signed(row.low, 3)}, ${signed(row.high, 3)}]`;
  const name = app.overview.models[row.other];
  return el("tr", {},
    el("th", { scope: "row" }, said(name)),
    el("td", { class: "numbers" }, figure(row.difference)),
    el("td", { class: "numbers" }, interval),
    el("td", { class: "numbers", title: row.method }, pText(row.p)),
    el("td", { class: "numbers" }, pText(row.holm)),
    el("td", {}, row.holm !== null && row.holm < 0.05
      ? [el("span", { "aria-hidden": "true" }, "*"), el("span", { class: "unseen" }, "significant")] : null),
    el("td", { class: "numbers" }, row.n.toLocaleString("en")),
    el("td", { class: "numbers" }, el("button", {
      type: "button",
      class: "quiet",
      "data-pair": `${app.state.tested} ${row.other}`,
      on: { click: () => app.show({ a: app.state.tested, b: row.other, studyMetric: metric.name }) },
    }, "studies", el("span", { class: "unseen" }, " against ", name))));
}

function signed(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  return (Number(text) === 0 ? "" : value < 0 ? "−" : "+") + text;
}

function pText(p) {
  if (p === null) return number(null);
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}
