// The leaderboard of one group, ranked by one metric.

import { el, option, said } from "./dom.js";
import { count, number, percent } from "./words.js";
import { cellOf } from "./store.js";

export function figureText(cell, metric) {
  if (cell.value === null) return number(null);
  if (metric.kind === "rate") {
    const ends = cell.low === null ? "" : ` [${(100 * cell.low).toFixed(1)}, ${(100 * cell.high).toFixed(1)}]`;
    return `${percent(cell.value)}${ends}`;
  }
  return number(cell.value) + (cell.high === null ? "" : ` ± ${number(cell.high - cell.value)}`);
}

// Models by place, those without a figure last, equal ones in the order they were given.
export function ranking(group, metric) {
  const places = group.cells[metric].map((cell) => cellOf(cell).rank ?? Infinity);
  return places.map((_, at) => at).sort((a, b) => (places[a] - places[b]) || (a - b));
}

export function boardSection(app) {
  return el("section", { id: "board", "aria-labelledby": "board-title" },
    el("h2", { id: "board-title", tabindex: "-1" }, "Leaderboard"),
    el("div", { class: "filters controls" },
      el("div", { class: "control" },
        el("label", { for: "group" }, "Studies"),
        el("select", { id: "group", on: { change: ({ target }) => app.set({ group: Number(target.value) }) } },
          app.overview.groups.map((group, at) => option(String(at), `${group.name} (${group.n.toLocaleString("en")})`)))),
      el("div", { class: "control" },
        el("label", { for: "metric" }, "Ranked by"),
        el("select", { id: "metric", on: { change: ({ target }) => app.set({ metric: target.value }) } },
          app.overview.metrics.map(({ name, label }) => option(name, label, app.state.metric))))),
    el("div", { id: "board-table" }));
}

export function drawBoard(app) {
  const { overview, state, group } = app;
  document.getElementById("group").value = String(state.group);
  document.getElementById("metric").value = state.metric;
  const order = ranking(group, state.metric);
  if (state.reversed) order.reverse();
  const places = group.places[state.metric];
  const table = el("table", { class: "studies board" },
    el("caption", { class: "unseen" }, "Leaderboard; a heading sorts by its metric, a figure opens its studies"),
    el("thead", {}, el("tr", {},
      el("th", { scope: "col", class: "numbers" }, "Rank"),
      places ? el("th", { scope: "col", class: "numbers" }, "95% of the rank") : null,
      el("th", { scope: "col", class: "model" }, "Model"),
      overview.metrics.map((metric) => heading(metric, app)))),
    el("tbody", {}, order.map((model) => line(model, places, app))));
  const focused = document.activeElement?.dataset?.sort;
  const box = document.getElementById("board-table");
  box.replaceChildren(
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Leaderboard" }, table),
    el("p", { class: "small" },
      `${count(group.n, "study", "studies")}. A mean with its 95% interval (1.96 standard errors), a rate with its `
      + "Wilson interval; n where fewer studies were scored. A figure opens the studies behind it."));
  if (focused) box.querySelector(`[data-sort="${CSS.escape(focused)}"]`)?.focus();
}

function heading(metric, app) {
  const sorted = app.state.metric === metric.name;
  // Best first: upwards where less is better.
  const ascending = metric.higher === app.state.reversed;
  const sort = () => app.set({ metric: metric.name, reversed: sorted && !app.state.reversed });
  return el("th", { scope: "col", class: "numbers metric", "aria-sort": sorted ? (ascending ? "ascending" : "descending") : null },
    el("button", { type: "button", class: "sort", "data-sort": metric.name, on: { click: sort } },
      said(metric.label), el("span", { "aria-hidden": "true" }, metric.higher ? " ↑" : " ↓", sorted ? " ●" : ""),
      el("span", { class: "unseen" }, metric.higher ? ", higher is better" : ", lower is better")));
}

function line(model, places, app) {
  const { overview, group, state } = app;
  const ranked = cellOf(group.cells[state.metric][model]);
  const shared = group.cells[state.metric].filter((cell) => cellOf(cell).rank === ranked.rank).length > 1;
  const place = places?.[model];
  return el("tr", {},
    el("td", { class: "numbers" }, ranked.rank === null ? "n/a" : `${ranked.rank}${shared ? "=" : ""}`),
    places ? el("td", { class: "numbers" }, place ? (place[0] === place[1] ? String(place[0]) : `${place[0]}–${place[1]}`) : "n/a") : null,
    el("th", { scope: "row", class: "model" }, said(overview.models[model])),
    overview.metrics.map((metric) => {
      const cell = cellOf(group.cells[metric.name][model]);
      const text = figureText(cell, metric);
      const fewer = cell.n === group.n ? null : el("span", { class: "small" }, ` n = ${cell.n.toLocaleString("en")}`);
      if (!cell.n) return el("td", { class: "numbers" }, text);
      const open = () => app.behind(model, metric.name);
      return el("td", { class: "numbers" },
        el("button", { type: "button", class: "cell", "data-cell": `${model} ${metric.name}`, on: { click: open } },
          el("span", { class: "unseen" }, `${metric.label} of ${overview.models[model]}: `),
          text,
          el("span", { class: "unseen" }, ", open its studies")),
        fewer);
    }));
}
