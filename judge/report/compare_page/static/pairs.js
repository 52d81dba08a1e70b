// The tests of one model against each other one.

import { control, el, said } from "./dom.js";
import { options } from "./choices.js";
import { count, NOTHING, printed } from "./words.js";
import { ranking } from "./board.js";
import { sideways } from "./scroll.js";

const BY = {
  "sign-flip permutation test": ({ flips, patient }) => `sign-flip permutation test, ${flips.toLocaleString("en")} random flips, ${patient === null ? "study by study" : "patient by patient"}`,
  "mcnemar mid-p": ({ patient }) => `McNemar's test, mid-p${patient === null ? "" : " (no patient has two studies here)"}`,
};

export function pairsSection(app) {
  return el("section", { id: "pairs", "aria-labelledby": "pairs-title" },
    el("h2", { id: "pairs-title" }, "Pairwise significance tests"),
    el("div", { class: "filters controls" },
      control("pairs-model", "Model", el("select", { on: { change: ({ target }) => app.set({ tested: Number(target.value) }) } },
        options(app.overview.models, String)))),
    el("div", { id: "pairs-table" }));
}

export function drawPairs(app) {
  const { overview, group, state } = app;
  const box = document.getElementById("pairs-table");
  document.getElementById("pairs-model").value = String(state.tested);
  const found = (group.tests[state.metric] ?? []).filter(({ a, b }) => a === state.tested || b === state.tested);
  if (!found.length) {
    box.replaceChildren(el("p", { class: "empty" }, overview.models.length < 2
      ? "There is no other model to compare with."
      : untested(app)));
    return;
  }
  const metric = app.metric;
  const order = ranking(group, state.metric);
  const rows = found.map((test) => seenBy(state.tested, test))
    .sort((one, other) => order.indexOf(one.other) - order.indexOf(other.other));
  box.replaceChildren(
    el("p", { class: "title" }, said(overview.models[state.tested]), " less the other, ", said(metric.label),
      metric.higher ? " (higher is better), " : " (lower is better), ", said(group.name)),
    ...sideways("Tests of difference",
      el("table", { class: "studies" },
        el("caption", { class: "unseen" }, "Differences from every other model"),
        el("thead", {}, el("tr", {},
          ["Other model", "Difference", "95% interval", "p", "p (Holm)", "", "Studies", "Where?"].map((text, at) => el("th", {
            scope: "col", class: at ? "numbers" : null,
          }, text || el("span", { class: "unseen" }, "Significant?"))))),
        el("tbody", {}, rows.map((row) => testRow(row, metric, app))))),
    el("p", { class: "small" }, "Paired on the studies scored for both. ", ...howTested(rows, overview.resampling),
      " Holm's correction over all pairs of the metric and group. * marks a corrected p below 0.05."));
}

// What was resampled, and which test gave the values of p that are shown.
function howTested(rows, how) {
  const methods = [...new Set(rows.map(({ method }) => method))];
  const units = how.patient === null ? ["studies"] : ["whole patients (field ", said(how.patient), ")"];
  return [`Interval: ${count(how.n, "bootstrap resample")} of `, ...units, `, seed ${how.seed}. `,
    `p: ${methods.map((method) => BY[method]?.(how) ?? method).join(" or ")}.`];
}

function untested({ overview, group, metric, store }) {
  if (!overview.resampling) return "Nothing was tested: this comparison was made without tests.";
  if (Object.keys(group.tests).length) return `No difference could be tested in ${group.name} by ${metric.label}.`;
  return `Nothing was tested for ${group.name} alone. ${store.howToTest(Object.keys(group.key).join(","))}`;
}

// A test as one of its two models sees it.
function seenBy(model, test) {
  const [other, difference] = test.a === model ? [test.b, test.differences[0]] : [test.a, test.differences[1]];
  return { ...test, other, difference: printed(difference.text), interval: printed(difference.interval) };
}

function testRow(row, metric, app) {
  const name = app.overview.models[row.other];
  return el("tr", {},
    el("th", { scope: "row" }, said(name)),
    el("td", { class: "numbers" }, row.difference),
    el("td", { class: "numbers" }, row.interval || NOTHING),
    el("td", { class: "numbers", title: row.method }, row.p),
    el("td", { class: "numbers" }, row.p_holm),
    el("td", {}, row.is_significant
      ? [el("span", { "aria-hidden": "true" }, "*"), el("span", { class: "unseen" }, "significant")] : null),
    el("td", { class: "numbers" }, row.n.toLocaleString("en")),
    el("td", { class: "numbers" }, el("button", {
      type: "button",
      class: "quiet",
      "data-pair": `${app.state.tested} ${row.other}`,
      on: { click: () => app.show({ a: app.state.tested, b: row.other, studyMetric: metric.name }) },
    }, "studies", el("span", { class: "unseen" }, " against ", name))));
}
