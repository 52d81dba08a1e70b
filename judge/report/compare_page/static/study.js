// One study: the reference, both candidates, and what each judge wrote down.

import { el, fact, option, said } from "./dom.js";
import { drawOpened, steps } from "./opened.js";
import { textOf } from "./overlay.js";
import { judged, report, withItems, words } from "./record.js";
import { studyAddress } from "./transports.js";
import { percent } from "./words.js";

export function drawStudy(app) {
  const { state, store, overview } = app;
  const models = [state.a, state.b].filter((model) => model !== null);
  const ask = (row) => [store.reports(row, models), ...overview.metrics.map(({ name }) => store.values(name))];
  return drawOpened(app, ask, (row, found, ...all) => content(row, models, found, all, app));
}

function content(row, models, found, all, app) {
  const { state, store, overview } = app;
  const values = new Map(overview.metrics.map(({ name }, at) => [name, all[at]]));
  // Each record with its items as they are shown, A's and B's apart.
  const records = found.filter(({ model }) => models.includes(model)).map((record) => {
    const letter = "AB"[models.indexOf(record.model)];
    const key = `${letter}${Object.keys(overview.rubrics).indexOf(record.rubric)}`;
    return withItems(record, overview.rubrics[record.rubric], key, letter);
  });
  const graded = gradedOf(overview);
  const marker = [state.marks, app.studyMetric.rubric].find((name) => graded.includes(name)) ?? graded[0];
  const references = referencesOf(records, marker);
  return [
    steps(app, graded.length < 2 ? null : graded.map((name) => option(name, overview.rubrics[name].title, marker)),
      (name) => app.set({ marks: name })),
    el("h3", { id: "study-title", tabindex: "-1" }, "Study ", said(store.studyId(row))),
    el("p", { class: "small" }, store.fieldNames.flatMap((name, at) => [at ? "; " : "", said(name), ": ", said(store.fieldOf(name, row))])),
    el("div", { class: models.length > 1 ? "sides two" : "sides" },
      el("section", { class: "report reference", "aria-labelledby": "reference-title" },
        el("h4", { id: "reference-title" }, references.length > 1 ? "References (they differ)" : "Reference"),
        references.length ? references : elsewhere()),
      models.map((model, at) => candidate(row, model, "AB"[at], records, marker, values, app)))];
}

// What the models shown were judged against, with the marks of both: one text, unless other
// references were allowed.
function referencesOf(records, marker) {
  const byWords = new Map();
  for (const record of records) {
    const words_ = textOf(record.reference).trim().split(/\s+/).join(" ");
    byWords.set(words_, [...byWords.get(words_) ?? [], record]);
  }
  return [...byWords.values()].map((own) => report(textOf(own[0].reference), "reference", own.filter(({ rubric }) => rubric === marker)));
}

// The rubrics whose items are marked in the reports.
function gradedOf({ rubrics }) {
  return Object.keys(rubrics).filter((name) => rubrics[name].kinds.some((kind) => kind.graded_by !== null && kind.is_listed));
}

function candidate(row, model, letter, records, marker, values, app) {
  const { overview } = app;
  const own = records.filter((record) => record.model === model);
  const id = `candidate-${letter}`;
  return el("section", { class: "report", "aria-labelledby": id },
    el("h4", { id }, `${letter}: `, said(overview.models[model])),
    own.length ? words(own, own.filter(({ rubric }) => rubric === marker)) : elsewhere(),
    el("dl", { class: "facts" }, overview.metrics.map((metric) => {
      const value = values.get(metric.name)(row, model);
      return fact(metric.study_label, app.store.valueText(metric, value));
    })),
    own.map((record) => {
      const run = overview.runs?.find((one) => one.model === model && one.rubric === record.rubric)?.run;
      return judged(record, overview.rubrics[record.rubric],
        run ? el("a", { href: studyAddress(run, app.store.studyId(row)) }, "Open in its run") : null);
    }));
}

function elsewhere() {
  return el("p", {}, "Its reports are not in this page, which holds those of the studies in which models differ most. "
    + "judge audit shows them.");
}

export function coverage({ here, all }) {
  if (here === all) return "The reports of all studies are in this page.";
  return `This page holds ${here.toLocaleString("en")} of ${all.toLocaleString("en")} judged reports (${percent(here / all)}): `
    + "those of the studies in which models differ most. The values of all studies are here.";
}
