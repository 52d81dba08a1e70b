// The leaderboard of one group, ranked by one metric.

import { control, el, said } from "./dom.js";
import { options } from "./choices.js";
import { count, printed } from "./words.js";
import { sideways } from "./scroll.js";

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
