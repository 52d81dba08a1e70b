// One study: reference and candidate, and side by side what the judge and each reader wrote down.

import { el, option, said } from "./dom.js";
import { drawOpened, steps } from "./opened.js";
import { textOf } from "./overlay.js";
import { judged, report, withItems, words } from "./record.js";
import { countText } from "./cells.js";
import { capital } from "./words.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

export function drawBeside(app) {
  const { state, store } = app;
  return drawOpened(app, (row) => [store.reports(row), store.counts(state.quantity)],
    (row, found, value) => content(row, found, value, app));
}

function content(row, found, value, app) {
  const { state, store } = app;
  const { overview, columns } = store;
  const raters = [state.judge, ...store.readers];
  const letter = (at) => LETTERS[raters.indexOf(at)] ?? `${raters.indexOf(at) + 1}.`;
  const records = found.filter(({ rater }) => raters.includes(rater))
    .map((record) => withItems(record, overview.raters[record.rater].rubric, `r${record.rater}`, letter(record.rater)))
    .sort((a, b) => raters.indexOf(a.rater) - raters.indexOf(b.rater));
  const marking = records.filter(({ rater }) => state.marks === null || rater === state.marks);
  const text = (side, title, content) => el("section", { class: "report", "aria-labelledby": `${side}-title` },
    el("h4", { id: `${side}-title` }, title), content);
  // A text that is not in a reader's file is in the judge's run.
  const written = records.find(({ reference, candidate }) => textOf(reference) || textOf(candidate)) ?? records[0];
  const chosen = state.marks === null ? "" : String(state.marks);
  const marks = [option("", "of the judge and all readers", chosen), ...records.map(({ rater: one }) =>
    option(String(one), `${letter(one)}: ${overview.raters[one].name}`, chosen))];
  return [
    steps(app, marks, (one) => app.set({ marks: one === "" ? null : Number(one) })),
    el("h3", { id: "study-title", tabindex: "-1" }, "Study ", said(columns.study_id[row])),
    el("p", { class: "small" }, `Class: `, said(columns.study_class[row])),
    records.length ? el("div", { class: "sides" },
      text("reference", "Reference", report(textOf(written.reference), "reference", marking)),
      text("candidate", "Candidate", words([written, ...records], marking)))
      : el("p", {}, "Its reports are not in this page, which holds some studies of every point; judge audit RUN STUDY shows them. Its counts:"),
    el("div", { class: "sides raters" }, raters.map((at) => rater(at, row, records, value, letter(at), app)))];
}

function rater(at, row, records, value, letter, app) {
  const { raters, quantities } = app.store.overview;
  const { name, is_reader: isReader, rubric } = raters[at];
  const own = records.find((record) => record.rater === at);
  const counted = value(row, at);
  return el("section", { class: "report", "aria-labelledby": `rater-${at}`, "data-rater": String(at) },
    el("h4", { id: `rater-${at}` }, `${letter}: `, said(name), isReader ? " (reader)" : " (judge)"),
    el("p", { class: "small" }, counted === null
      ? `${capital(quantities[app.state.quantity].label)}: ${isReader ? "not read, or not asked for" : "not scored"}.`
      : `${capital(quantities[app.state.quantity].label)}: ${countText(counted)}.`),
    own ? judged(own, rubric, null) : null);
}
