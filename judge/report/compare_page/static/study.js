// One study: the reference, both candidates, and what each judge wrote down.

import { clipped, el, fact, newest, said } from "./dom.js";
import { studyAddress } from "./transports.js";
import { capital, count, itemLabels, percent, wordsOf } from "./words.js";

export async function drawStudy(app) {
  const { state, store, overview } = app;
  const box = document.getElementById("opened");
  if (state.study === null) {
    app.drawingStudy = null;
    box.replaceChildren();
    return;
  }
  const row = state.study;
  const models = [state.a, state.b].filter((model) => model !== null);
  const answers = await newest(app, "drawingStudy", Promise.all([
    store.reports(row, models), ...overview.metrics.map(({ name }) => store.values(name))]));
  if (!answers) return;
  const [found, ...all] = answers;
  const values = new Map(overview.metrics.map(({ name }, at) => [name, all[at]]));
  const references = referencesOf(models, found);
  box.replaceChildren(el("section", { id: "study", "aria-labelledby": "study-title" },
    steps(app),
    el("h3", { id: "study-title", tabindex: "-1" }, "Study ", said(store.studyId(row))),
    el("p", { class: "small" }, store.fieldNames.flatMap((name, at) => [at ? "; " : "", said(name), ": ", said(store.fieldOf(name, row))])),
    el("div", { class: models.length > 1 ? "sides two" : "sides" },
      el("section", { class: "report reference", "aria-labelledby": "reference-title" },
        el("h4", { id: "reference-title" }, references.length > 1 ? "References (they differ)" : "Reference"),
        references.length ? references.map(report) : elsewhere(row, models, app)),
      models.map((model, at) => candidate(row, model, "AB"[at], found, values, app)))));
}

// What the models shown were judged against; one text, unless other references were allowed.
function referencesOf(models, found) {
  const texts = new Map();
  for (const { model, reference } of found) {
    const words = reference.trim().split(/\s+/).join(" ");
    if (models.includes(model) && !texts.has(words)) texts.set(words, reference);
  }
  return [...texts.values()];
}

function steps({ state, listed, step, back }) {
  const at = listed.indexOf(state.study);
  const button = (by, text, enabled) => el("button", {
    type: "button", "data-next": String(by), disabled: at < 0 || !enabled, on: { click: () => step(by) },
  }, text);
  return el("nav", { class: "steps", "aria-label": "Studies of the list" },
    button(-1, "Previous study", at > 0),
    button(1, "Next study", at + 1 < listed.length),
    el("button", { type: "button", class: "quiet", on: { click: back } }, "Back to the list"),
    el("span", { class: "small" }, at < 0 ? "not in the list as it is now" : `${(at + 1).toLocaleString("en")} of ${listed.length.toLocaleString("en")}`));
}

function report(text) {
  return el("div", { class: "text", dir: "auto" }, ...(text ? clipped(text, said) : [el("em", {}, "(empty)")]));
}

// A candidate's text; where corrections name its lines, the lines with their numbers.
function words(records) {
  const lines = records.find((record) => record.lines?.length)?.lines;
  if (!lines) return report(records[0].candidate);
  return el("ol", { class: "lines", start: "0" },
    lines.map((line) => el("li", { class: "text", dir: "auto" }, ...clipped(line, said))));
}

function candidate(row, model, letter, found, values, app) {
  const { overview } = app;
  const own = found.filter((record) => record.model === model);
  const id = `candidate-${letter}`;
  return el("section", { class: "report", "aria-labelledby": id },
    el("h4", { id }, `${letter}: `, said(overview.models[model])),
    own.length ? words(own) : elsewhere(row, [model], app),
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

function elsewhere(row, models, app) {
  const id = app.store.studyId(row);
  const commands = app.overview.commands.filter(({ model }) => models.includes(model));
  return el("div", {},
    el("p", {}, "Its reports are not in this page, which holds those of the studies in which models differ most."),
    commands.length ? el("p", { class: "small" }, "To read it:") : null,
    commands.map(({ command }) => el("p", { class: "mono" }, said(`${command} ${quoted(id)}`))));
}

// An id as a shell takes it for one word, whatever it holds.
function quoted(id) {
  const word = /^[\w@%+=:,./-]+$/.test(id) ? id : `'${id.replaceAll("'", `'"'"'`)}'`;
  return id.startsWith("-") ? `-- ${word}` : word;
}

function judged(record, rubric, link) {
  const labels = itemLabels(rubric);
  const part = el("div", { class: "part" }, el("h5", {}, said(rubric.title), link ? " " : null, link));
  if (record.outcome !== "annotated") {
    part.append(el("p", {}, capital(record.outcome), ": ", said(record.reason ?? "")),
      el("p", { class: "small" }, said(record.detail || "Nothing more is known.")));
    return part;
  }
  if (record.items.length) part.append(el("ol", { class: "errors" }, record.items.map((item) => card(item, labels))));
  else if (labels.hasGraded) part.append(el("p", {}, `No ${labels.noun.label}.`));
  for (const { kind, n, texts } of record.lists.filter((list) => list.n)) {
    const { label, plural } = labels.kind(kind);
    part.append(el("details", {}, el("summary", {}, count(n, label, plural)),
      el("ul", { class: "matched" }, texts.map((text) => el("li", {}, said(text || "(no text)"))))));
  }
  if (record.explanation) {
    part.append(el("details", {}, el("summary", {}, "The judge's explanation"),
      el("p", { class: "text", dir: "auto" }, ...clipped(record.explanation, said))));
  }
  for (const warning of record.warnings) part.append(el("p", { class: "small" }, "Warning: ", said(warning)));
  return part;
}

function card(item, labels) {
  const grade = labels.grade(item);
  return el("li", { class: `error tone-${grade.tone}` },
    el("p", { class: "error-head" }, el("span", { class: "severity" }, grade.label),
      el("span", {}, labels.tags(item).join(", "))),
    el("p", { dir: "auto" }, ...clipped(wordsOf(item), said)),
    item.edit ? el("p", { class: "small" }, ...editWords(item.edit)) : null);
}

function editWords({ kind, line, corrected }) {
  if (kind === "delete") return [`Delete line ${line}.`];
  const where = kind === "change" ? `Change line ${line} to: `
    : line === null ? "Insert at the end: " : `Insert before line ${line}: `;
  return [where, el("ins", {}, said(corrected))];
}

export function coverage({ here, all }) {
  if (here === all) return "The reports of all studies are in this page.";
  return `This page holds ${here.toLocaleString("en")} of ${all.toLocaleString("en")} judged reports (${percent(here / all)}): `
    + "those of the studies in which models differ most. The values of all studies are here.";
}
