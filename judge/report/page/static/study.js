// One study: both reports, what the judge wrote down, and why.

import { clipped, el, said } from "./dom.js";
import { edit, linkMarks, report } from "./marks.js";
import { capital, count, shown } from "./words.js";

// `review` draws a reader's controls for an error and for the study; null where there are none.
export function studySection(study, app, review) {
  const { view } = study;
  const section = el("section", { id: "study", "aria-labelledby": "study-title" },
    head(study, app),
    outcome(study),
    el("div", { class: "sides" },
      report("Reference", view.reference, study), report("Candidate", view.candidate, study)),
    view.edits ? edit(view.edits, study) : null,
    view.outcome === "annotated" ? errors(study, review) : null,
    review ? review.ofStudy() : null,
    view.matched ? matched(view) : null,
    view.outcome === "annotated" && (view.explanation || !view.edits)
      ? part("The judge's explanation", el("p", { class: "text", dir: "auto" },
        ...clipped(view.explanation || "(none)")))
      : null,
    view.remarks.length
      ? part("Remarks on the answer", el("ul", {}, view.remarks.map((remark) => el("li", {}, said(remark)))))
      : null,
    answer(study, app));
  linkMarks(section);
  section.addEventListener("click", (event) => {
    const link = event.target.closest("[data-to]");
    const mark = event.target.closest("mark");
    if (!link && !mark) return;
    event.preventDefault();
    focusError(section, Number(link ? link.dataset.to : mark.dataset.errors.split(" ")[0]));
  });
  return section;
}

export function focusError(section, at) {
  const card = section.querySelector(`#error-${at}`);
  card?.focus({ preventScroll: true });
  card?.scrollIntoView({ block: "nearest" });
}

function head(study, app) {
  const { view } = study;
  const step = (row, text, keys) => el("button", {
    type: "button", disabled: row === null, "aria-keyshortcuts": keys, on: { click: () => app.step(row) },
  }, text);
  const inferred = view.class_inferred ? " (inferred)" : "";
  const fields = Object.entries(view.fields);
  return el("header", { class: "study-head" },
    el("nav", { class: "steps", "aria-label": "Studies" },
      el("a", { href: app.addressOf(null), class: "back" }, "All studies"),
      step(study.previous, "Previous", "p"), step(study.next, "Next", "n"),
      study.position === null || study.position === undefined ? null
        : el("span", { class: "small" }, `${study.position + 1} of ${study.matching.toLocaleString("en")}`)),
    el("h2", { id: "study-title", tabindex: "-1" }, "Study ", said(view.study_id)),
    el("dl", { class: "facts" },
      fact("class", shown(view.study_class) + inferred),
      ...(view.scores ? app.labels.scores.map(({ name, label }) => fact(label, app.labels.score(name, view.scores[name]))) : []),
      ...(view.scores ? app.labels.checks.map(({ name, label }) => fact(label, app.labels.score(name, view.scores[name]))) : []),
      ...fields.map(([name, value]) => fact(name, value))));
}

function fact(name, value) {
  return el("div", {}, el("dt", {}, said(name)), el("dd", {}, ...clipped(String(value), (text) => [said(text)])));
}

function outcome({ view }) {
  if (view.outcome === "annotated") return null;
  return el("div", { class: "unscored" },
    el("h3", {}, capital(view.outcome), ": ", said(view.reason ?? "")),
    el("p", { class: "text" }, ...clipped(view.detail || "Nothing more is known.")),
    el("p", { class: "small" }, "This study is not scored. It is counted beside the rates, never in them."));
}

function errors(study, review) {
  const { view, labels } = study;
  const differs = view.differs.map(({ level, listed, stated }) => el("p", { class: "small" },
    `The answer's own counts say ${stated} ${labels.level(level).label}; it lists ${listed}. The counts hold.`));
  return part(view.errors.length ? count(view.errors.length, "error") : "No error", ...differs,
    view.errors.length ? el("ol", { class: "errors" }, view.errors.map((error, at) => card(error, at, study, review))) : null);
}

function card(error, at, study, review) {
  const level = study.labels.level(error.level);
  const places = [["reference", study.view.reference], ["candidate", study.view.candidate]]
    .filter(([, segments]) => segments.some(([, numbers]) => numbers.includes(at)))
    .map(([name]) => name);
  return el("li", {
    id: `error-${at}`, class: `error tone-${level.tone}`, tabindex: "-1", "data-errors": String(at),
  },
  el("p", { class: "error-head" },
    el("span", { class: "error-number" }, el("span", { class: "unseen" }, "Error "), String(at + 1)),
    el("strong", { class: `severity tone-${level.tone}` }, level.label),
    ...error.categories.map((letter) => el("span", { class: "category" }, study.labels.category(letter))),
    el("span", { class: "small" }, places.length
      ? `marked in the ${places.join(" and the ")}` : "its words are in neither report")),
  el("p", { id: `error-${at}-words`, class: "text", dir: "auto" }, ...clipped(error.text, (text) => [said(text)])),
  review ? review.error(error, at) : null);
}

function matched(view) {
  return part(`${count(view.n_matched ?? view.matched.length, "matched finding")}`,
    el("ul", { class: "matched" }, view.matched.map((finding) => el("li", {}, said(finding)))));
}

function answer({ view }, app) {
  const given = view.answer;
  const details = given
    ? [`model ${given.model}`, `ended by ${given.finish_reason}`, given.created, view.attempt > 0 ? `answer ${view.attempt + 1}` : null]
    : [];
  return el("details", { class: "answer" },
    el("summary", {}, "Raw answer and signature"),
    given ? el("pre", { class: "text", dir: "auto", tabindex: "0" }, ...clipped(given.text || "(empty)"))
      : el("p", {}, "The judge gave no answer."),
    given ? el("p", { class: "small" }, said(details.filter(Boolean).join(", "))) : null,
    el("p", { class: "mono" }, said(app.view.signature)));
}

function part(title, ...content) {
  return el("section", { class: "part" }, el("h3", {}, title), ...content);
}
