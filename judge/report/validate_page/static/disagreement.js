// Counts of a judge against those of the readers: two figures of the same cells, and the studies
// of a cell, or all of them, those in which judge and readers disagree most first.

import { control, el, grid, newest, option, said } from "./dom.js";
import { opener, pageOf, showList } from "./opened.js";
import { options, sideways } from "./parts.js";
import { countText } from "./cells.js";
import { cloud } from "./cloud.js";
import { capital, count } from "./words.js";

export function countsSection(app) {
  const { overview, judges } = app.store;
  const choose = (name, id, label, content) => control(id, label, el("select", {
    on: { change: ({ target }) => app.set({ [name]: name === "order" ? target.value : Number(target.value), offset: 0 }) },
  }, content));
  return el("section", { id: "counts", "aria-labelledby": "counts-title" },
    el("h2", { id: "counts-title", tabindex: "-1" }, "Counts of the judge and of the readers"),
    el("div", { class: "filters controls" },
      choose("quantity", "quantity", "What is counted", options(overview.quantities.map(({ label }) => label), String)),
      choose("judge", "judge", "Judge", options(judges.map((at) => overview.raters[at].name), (at) => String(judges[at]))),
      choose("order", "order", "First come", [
        option("most", "studies where they differ most"),
        option("more", "studies where the judge counts more"),
        option("fewer", "studies where the judge counts fewer")])),
    el("p", { class: "small" }, "Each circle stands for the studies of which both counted the same; the larger, the more. ",
      "A circle opens its studies."),
    el("div", { id: "clouds", class: "figures" }),
    el("div", { id: "list" }),
    el("div", { id: "opened" }));
}

function cellsOf(pairs) {
  const found = new Map();
  for (const pair of pairs) {
    if (!found.has(pair.cell)) found.set(pair.cell, { ...pair, key: pair.cell, rows: [] });
    found.get(pair.cell).rows.push(pair.row);
  }
  return [...found.values()].map((cell) => ({
    ...cell, x: cell.mean, y: cell.judge, words: `judge ${countText(cell.judge)}, mean of the readers ${countText(cell.mean)}`,
  }));
}

export async function drawCounts(app) {
  const { state, store } = app;
  for (const name of ["quantity", "judge", "order"]) document.getElementById(name).value = String(state[name]);
  const pairs = await newest(app, "drawing", store.pairs(state.quantity, state.judge));
  if (!pairs) return;
  drawClouds(pairs, app);
  await drawList(pairs, app);
}

function drawClouds(pairs, app) {
  const { state, store: { overview } } = app;
  const cells = cellsOf(pairs);
  const focused = document.activeElement?.dataset?.cell;
  const inWhich = document.activeElement?.closest?.(".cloud")?.id;
  const { name, label } = overview.quantities[state.quantity];
  const limits = overview.limits.find((one) => one.quantity === name && one.judge === overview.raters[state.judge].name);
  const levels = [limits.bias, limits.lower, limits.upper].filter(({ value }) => value !== null);
  const shared = { cells, chosen: state.cell, open: app.openCell };
  const box = document.getElementById("clouds");
  if (!cells.length) {
    box.replaceChildren(el("p", { class: "empty" }, "No study has both the judge's count and a reader's."));
    return;
  }
  box.replaceChildren(
    cloud({ ...shared, id: "against", title: `${capital(label)} per study: judge against readers`,
      across: "mean of the readers", down: "judge", levels: [], isSquare: true }),
    cloud({ ...shared, id: "differences", title: `${capital(label)} per study: judge less readers`,
      across: "mean of judge and readers", down: "judge less readers", levels, isSquare: false,
      cells: cells.map((cell) => ({ ...cell, x: (cell.judge + cell.mean) / 2, y: cell.by })) }));
  const words = levels.length
    ? `Solid: bias ${countText(limits.bias.value)}. Dashed: limits of agreement, ${countText(limits.lower.value)} to ${countText(limits.upper.value)}. Bands: their 95% intervals${limits.bias.low === null ? ", of which there are none" : ""}.`
    : `No limits of agreement: ${limits.reason ?? "they are not defined"}.`;
  box.lastChild.append(el("p", { class: "small" }, words));
  box.firstChild.append(el("p", { class: "small" }, "On the line both counts are equal."));
  if (focused) [...document.querySelectorAll(`#${inWhich} .dot`)].find((one) => one.dataset.cell === focused)?.focus();
}

const ORDERS = {
  most: (a, b) => Math.abs(b.by) - Math.abs(a.by), more: (a, b) => b.by - a.by, fewer: (a, b) => a.by - b.by,
};

async function drawList(pairs, app) {
  const { state, store } = app;
  const value = await store.counts(state.quantity);
  const shown = pairs.filter(({ cell }) => state.cell === null || cell === state.cell);
  // Of studies that differ as much, those that can be read here come first.
  shown.sort((a, b) => ORDERS[state.order](a, b) || store.hasReports(b.row) - store.hasReports(a.row) || a.row - b.row);
  const here = shown.filter(({ row }) => store.hasReports(row)).length;
  showList(app, shown,
    el("h2", { id: "list-title", tabindex: "-1" }, state.cell === null
      ? "Studies in which judge and readers disagree most" : "Studies of one point"),
    el("p", { class: "count" }, state.cell === null
      ? `${count(shown.length, "study", "studies")} of judge and readers.`
      : `${count(shown.length, "study", "studies")} with ${cellsOf(shown)[0]?.words ?? "these counts"}. `,
    here < shown.length ? ` The reports of ${here.toLocaleString("en")} are in this page. ` : "",
    state.cell === null ? null : el("button", { type: "button", class: "quiet", on: { click: () => app.set({ cell: null, offset: 0 }) } }, "Show all studies")),
    table(pageOf(shown, app), value, app));
}

function table(rows, value, app) {
  const { state, store: { columns, overview, readers, hasReports } } = app;
  if (!rows.length) return el("p", { class: "empty" }, "No study to show.");
  const head = (...text) => el("th", { scope: "col", class: "numbers" }, ...text);
  const cell = (text) => el("td", { class: "numbers" }, text);
  const isPartial = overview.studies.here < overview.studies.all;
  return el("div", {}, ...sideways("List of studies", grid("studies one-line", "Counts of each study", [
    el("th", { scope: "col" }, "Study"),
    el("th", { scope: "col" }, "Class"),
    head("Judge: ", said(overview.raters[state.judge].name)), head("Mean of the readers"), head("Judge less readers"),
    readers.map((at) => head(said(overview.raters[at].name))),
    isPartial ? el("th", { scope: "col" }, "Reports on this page?") : null,
  ], rows.map(({ row, judge, mean, by }) => el("tr", { class: row === state.study ? "current" : null },
    opener(row, columns.study_id[row], app),
    el("td", {}, said(columns.study_class[row])),
    [judge, mean, by].map((one) => cell(countText(one))),
    readers.map((at) => cell(countText(value(row, at)))),
    isPartial ? el("td", {}, hasReports(row) ? "yes" : "no") : null)))));
}
