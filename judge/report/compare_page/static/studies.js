// Where does one model beat another? The studies, by the difference.

import { control, el, grid, newest, option, said } from "./dom.js";
import { opener, pageOf, showList } from "./opened.js";
import { options, sideways } from "./parts.js";
import { count } from "./words.js";

const FIELDS = 3;

export function studiesSection(app) {
  const { models, metrics } = app.overview;
  const choose = (name, id, label, content, read = String) => control(id, label, el("select", {
    on: { change: ({ target }) => app.set({ [name]: read(target.value), offset: 0 }) },
  }, content));
  const model = (value) => (value === "" ? null : Number(value));
  return el("section", { id: "studies", "aria-labelledby": "studies-title" },
    el("h2", { id: "studies-title", tabindex: "-1" }, "The studies behind it"),
    el("div", { class: "filters controls" },
      choose("a", "model-a", "Model A", options(models, String), model),
      choose("b", "model-b", "Model B", [option("", "no other: this model alone"), ...options(models, String)], model),
      choose("studyMetric", "study-metric", "Compared by",
        options(metrics.map(({ study_label: label }) => label), (at) => metrics[at].name)),
      choose("first", "first", "First come",
        [option("a", "studies where A is ahead"), option("b", "studies where A is behind")]),
      choose("only", "only", "Show", [
        option("all", "all that were scored"),
        app.store.isPartial ? option("here", "those whose reports are on this page") : null,
        option("unscored", "those not scored")])),
    el("div", { id: "list" }),
    el("div", { id: "opened" }));
}

// How far A is ahead of B in each study; alone, how good A is. Null where either was not scored.
async function ahead(app) {
  const { state, studyMetric: metric } = app;
  const value = await app.store.values(metric.name);
  const sign = metric.study_higher ? 1 : -1;
  return app.store.rowsOf(app.group).map((row) => {
    const a = value(row, state.a);
    const b = state.b === null ? null : value(row, state.b);
    const by = a === null || (state.b !== null && b === null) ? null : sign * (a - (b ?? 0));
    return { row, a, b, by };
  });
}

export async function drawStudies(app) {
  const { state } = app;
  for (const [id, value] of [["model-a", state.a], ["model-b", state.b ?? ""], ["study-metric", state.studyMetric],
    ["first", state.first], ["only", state.only]]) document.getElementById(id).value = String(value);
  const all = await newest(app, "drawing", ahead(app));
  if (!all) return;
  const scored = all.filter(({ by }) => by !== null);
  const shown = state.only === "unscored" ? all.filter(({ by }) => by === null)
    : scored.filter(({ row }) => state.only === "all" || app.store.hasReports(row));
  const turn = state.first === "a" ? -1 : 1;
  shown.sort((one, other) => turn * (one.by - other.by) || one.row - other.row);
  showList(app, shown, summary(scored, all.length, app), table(pageOf(shown, app), app));
}

function summary(scored, n, app) {
  const { overview, state, group, studyMetric: metric } = app;
  const a = said(overview.models[state.a]);
  const title = el("p", { class: "title" }, said(metric.study_label), metric.kind === "rate" ? " (none is better)" : metric.study_higher ? " (higher is better)" : " (lower is better)");
  const missing = n - scored.length;
  const left = missing ? ` ${count(missing, "study is", "studies are")} not scored${state.b === null ? "" : " for both"} and left out.` : "";
  if (state.b === null) return el("div", {}, el("p", { class: "count" }, a, `: ${count(scored.length, "study", "studies")} of ${group.name}.${left}`), title);
  const ahead_ = scored.filter(({ by }) => by > 0).length;
  const behind = scored.filter(({ by }) => by < 0).length;
  const b = said(overview.models[state.b]);
  return el("div", {}, el("p", { class: "count" },
    a, ` is ahead of `, b, ` in ${ahead_.toLocaleString("en")} of ${count(scored.length, "study", "studies")}, `,
    `behind in ${behind.toLocaleString("en")}, equal in ${(scored.length - ahead_ - behind).toLocaleString("en")} `,
    `(${group.name}).${left}`), title);
}

function table(page, app) {
  const { overview, state, studyMetric: metric, store } = app;
  if (!page.length) return el("p", { class: "empty" }, "No study to show.");
  const fields = store.fieldNames.slice(0, FIELDS);
  const two = state.b !== null;
  const by = (difference) => (metric.kind === "rate" && difference !== null
    ? ["behind", "equal", "ahead"][difference + 1] : store.valueText(metric, difference));
  const head = (...text) => el("th", { scope: "col", class: "numbers" }, ...text);
  const number = (text) => el("td", { class: "numbers" }, text);
  return el("div", {}, ...sideways("List of studies",
    grid("studies one-line", [said(metric.study_label), " of each study"], [
      el("th", { scope: "col" }, "Study"),
      fields.map((name) => el("th", { scope: "col" }, said(name))),
      head("A: ", said(overview.models[state.a])),
      two ? [head("B: ", said(overview.models[state.b])), head("A ahead by")] : null,
      store.isPartial ? el("th", { scope: "col" }, "Reports on this page?") : null,
    ], page.map(({ row, a, b, by: difference }) => el("tr", { class: row === state.study ? "current" : null },
      opener(row, store.studyId(row), app),
      fields.map((name) => el("td", { title: store.fieldOf(name, row) }, said(store.fieldOf(name, row)))),
      number(store.valueText(metric, a)),
      two ? [number(store.valueText(metric, b)), number(by(difference))] : null,
      store.isPartial ? el("td", {}, store.hasReports(row) ? "yes" : "no, in the runs") : null)))));
}
