// The leaderboard of one group by one metric, and the tests of one model against each other one.

import { control, el, grid, said } from "./dom.js";
import { options, sideways } from "./parts.js";
import { count, NOTHING, printed } from "./words.js";

const BY = {
  "sign-flip permutation test": ({ flips, patient }) => `sign-flip permutation test, ${flips.toLocaleString("en")} random flips, ${patient === null ? "study by study" : "patient by patient"}`,
  "mcnemar mid-p": ({ patient }) => `McNemar's test, mid-p${patient === null ? "" : " (no patient has two studies here)"}`,
};

// Models by rank, those without a figure last, equal ones in the order they were given.
export function ranking(group, metric) {
  const ranks = group.cells[metric].map(({ rank }) => rank ?? Infinity);
  return ranks.map((_, model) => model).sort((a, b) => (ranks[a] - ranks[b]) || (a - b));
}

export function boardSection(app) {
  return el("section", { id: "board", "aria-labelledby": "board-title" },
    el("h2", { id: "board-title", tabindex: "-1" }, "Leaderboard"),
    el("div", { class: "filters controls" },
      control("group", "Studies", el("select", { on: { change: ({ target }) => app.set({ group: Number(target.value) }) } },
        options(app.overview.groups.map(({ name }) => name), String, (at) => ` (${app.overview.groups[at].n.toLocaleString("en")})`))),
      control("metric", "Ranked by", el("select", { on: { change: ({ target }) => app.set({ metric: target.value }) } },
        options(app.overview.metrics.map(({ label }) => label), (at) => app.overview.metrics[at].name)))),
    el("div", { id: "board-table" }));
}

// The metrics in blocks, one a rubric, so that a heading above needs to name it once.
function blocksOf({ metrics, rubrics }) {
  const blocks = [];
  for (const metric of metrics) {
    if (blocks.at(-1)?.rubric !== metric.rubric) {
      blocks.push({ rubric: metric.rubric, title: rubrics[metric.rubric]?.title ?? "Other metrics", metrics: [] });
    }
    blocks.at(-1).metrics.push(metric);
  }
  return blocks;
}

export function drawBoard(app) {
  const { overview, state, group } = app;
  document.getElementById("group").value = String(state.group);
  document.getElementById("metric").value = state.metric;
  const order = ranking(group, state.metric);
  if (state.reversed) order.reverse();
  const rankIntervals = group.rank_intervals[state.metric];
  const blocks = blocksOf(overview);
  const firsts = new Set(blocks.map(({ metrics }) => metrics[0].name));
  const stub = (label, kind) => el("th", { scope: "col", rowspan: "2", class: kind }, label);
  const table = el("table", { class: "studies board" },
    el("caption", { class: "unseen" }, "Leaderboard; a heading sorts by its metric, a number opens its studies"),
    el("colgroup", { span: rankIntervals ? "3" : "2" }),
    blocks.map(({ metrics }) => el("colgroup", { span: String(metrics.length) })),
    el("thead", {},
      el("tr", {},
        stub("Rank", "numbers"),
        rankIntervals ? stub("Rank, 95% interval", "numbers") : null,
        stub("Model", "model"),
        blocks.map(({ title, metrics }) => el("th", { scope: "colgroup", colspan: String(metrics.length), class: "block" }, el("span", {}, said(title))))),
      el("tr", {}, overview.metrics.map((metric) => heading(metric, firsts, app)))),
    el("tbody", {}, order.map((model) => line(model, rankIntervals, firsts, app))));
  const focused = document.activeElement?.dataset?.sort;
  const box = document.getElementById("board-table");
  box.replaceChildren(
    ...sideways("Leaderboard, table", table),
    el("p", { class: "small" },
      `${count(group.n, "study", "studies")}. A mean with its 95% interval, a rate with its `
      + "Wilson interval, both as if studies were independent; n where fewer studies were scored. "
      + "A heading ranks by its metric; a number opens the studies behind it."));
  // The rubrics' names stay beside the models' when the figures are scrolled.
  const names = table.querySelector("thead .model");
  new ResizeObserver(() => table.style.setProperty("--names", `${names.offsetWidth}px`)).observe(names);
  if (focused) box.querySelector(`[data-sort="${CSS.escape(focused)}"]`)?.focus();
}

function heading(metric, firsts, app) {
  const sorted = app.state.metric === metric.name;
  // Best first: upwards where less is better.
  const ascending = metric.higher === app.state.reversed;
  const sort = () => app.set({ metric: metric.name, reversed: sorted && !app.state.reversed });
  return el("th", {
    scope: "col", class: `numbers metric${firsts.has(metric.name) ? " block" : ""}`, "aria-sort": sorted ? (ascending ? "ascending" : "descending") : null,
  },
  el("button", { type: "button", class: "sort", "data-sort": metric.name, on: { click: sort } },
    said(metric.short), el("span", { "aria-hidden": "true" }, metric.higher ? " ↑" : " ↓", sorted ? " ●" : ""),
    el("span", { class: "unseen" }, metric.higher ? ", higher is better" : ", lower is better")));
}

function line(model, rankIntervals, firsts, app) {
  const { overview, group, state } = app;
  const ranked = group.cells[state.metric][model];
  const shared = group.cells[state.metric].filter(({ rank }) => rank === ranked.rank).length > 1;
  const ends = rankIntervals?.[model];
  return el("tr", {},
    el("td", { class: "numbers" }, ranked.rank === null ? "n/a" : `${ranked.rank}${shared ? "=" : ""}`),
    rankIntervals ? el("td", { class: "numbers" }, ends ? (ends.low === ends.high ? String(ends.low) : `${ends.low}–${ends.high}`) : "n/a") : null,
    el("th", { scope: "row", class: "model" }, said(overview.models[model])),
    overview.metrics.map((metric) => {
      const cell = group.cells[metric.name][model];
      const [figure, interval] = [printed(cell.figure), printed(cell.interval)];
      const style = `numbers${firsts.has(metric.name) ? " block" : ""}`;
      const fewer = cell.n === group.n ? null : el("span", { class: "small" }, `n = ${cell.n.toLocaleString("en")}`);
      if (!cell.n) return el("td", { class: style }, figure);
      const open = () => app.behind(model, metric.name);
      return el("td", { class: style },
        el("button", { type: "button", class: "cell", "data-cell": `${model} ${metric.name}`, on: { click: open } },
          el("span", { class: "unseen" }, `${metric.label} of ${overview.models[model]}: `),
          figure,
          el("span", { class: "unseen" }, ` ${interval}, open its studies`)),
        interval ? el("span", { class: "small", "aria-hidden": "true" }, interval) : null, fewer);
    }));
}

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
    box.replaceChildren(el("p", { class: "empty" }, untested(app)));
    return;
  }
  const metric = app.metric;
  const order = ranking(group, state.metric);
  const rows = found.map((test) => seenBy(state.tested, test))
    .sort((one, other) => order.indexOf(one.other) - order.indexOf(other.other));
  box.replaceChildren(
    el("p", { class: "title" }, said(overview.models[state.tested]), " minus the other, ", said(metric.label),
      metric.higher ? " (higher is better), " : " (lower is better), ", said(group.name)),
    ...sideways("Tests of difference",
      grid("studies", "Differences from every other model",
        ["Other model", "Difference", "95% interval", "p", "p (Holm)", "", "Studies", "Where?"].map((text, at) => el("th", {
          scope: "col", class: at ? "numbers" : null,
        }, text || el("span", { class: "unseen" }, "Significant?"))),
        rows.map((row) => testRow(row, metric, app)))),
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
  if (overview.models.length < 2) return "There is no other model to compare with.";
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
      type: "button", class: "quiet", "data-pair": `${app.state.tested} ${row.other}`,
      on: { click: () => app.show({ a: app.state.tested, b: row.other, studyMetric: metric.name }) },
    }, "studies", el("span", { class: "unseen" }, " against ", name))));
}
