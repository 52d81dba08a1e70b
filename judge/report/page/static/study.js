// One study: both reports, what the judge wrote down, and why.

import { clipped, el, fact, said } from "./dom.js";
import { differing, itemCard, linkMarks, marked, sidesOf } from "./items.js";
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
    view.outcome === "annotated" && study.labels.hasGraded ? items(study, review) : null,
    review ? review.ofStudy() : null,
    ...view.lists.map((list) => listed(list, study.labels)),
    view.outcome === "annotated" && (view.explanation || !view.edits)
      ? part("The judge's explanation", el("p", { class: "text", dir: "auto" },
        ...clipped(view.explanation || "(none)")))
      : null,
    view.warnings.length
      ? part("Warnings about the answer", el("ul", {}, view.warnings.map((warning) => el("li", {}, said(warning)))))
      : null,
    answer(study, app));
  linkMarks(section);
  return section;
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
      study.position === null ? null
        : el("span", { class: "small" }, `${study.position + 1} of ${study.matching.toLocaleString("en")}`)),
    el("h2", { id: "study-title", tabindex: "-1" }, "Study ", said(view.study_id)),
    el("dl", { class: "facts" },
      fact("class", said(shown(view.study_class) + inferred)),
      ...(view.measures ? [...app.labels.scores, ...app.labels.checks].map((one) => fact(one.label, measured(one, view, app))) : []),
      ...fields.map(([name, value]) => fact(name, ...clipped(String(value), said)))));
}

function outcome({ view }) {
  if (view.outcome === "annotated") return null;
  return el("div", { class: "unscored" },
    el("h3", {}, capital(view.outcome), ": ", said(view.reason ?? "")),
    el("p", { class: "text" }, ...clipped(view.detail || "Nothing more is known.")),
    el("p", { class: "small" }, "This study is not scored. It is counted beside the rates, never in them."));
}

function measured({ name, unit, undefined: why }, { measures }, app) {
  if (measures[name] === null) return `undefined (${why})`;
  return [app.labels.score(name, measures[name]), unit].filter(Boolean).join(" ");
}

function items(study, review) {
  const { view, labels } = study;
  const { label, plural } = labels.noun;
  return part(view.items.length ? count(view.items.length, label, plural) : `No ${label}`, ...differing(view, labels),
    view.items.length ? el("ol", { class: "errors" }, view.items.map((_, at) =>
      itemCard(numbered(study, at), labels, sidesOf(view, at), review ? review.item(at) : null))) : null);
}

function numbered({ view }, at) {
  return { key: String(at), name: String(at + 1), item: view.items[at] };
}

function listed({ kind, n, texts }, labels) {
  const { label, plural } = labels.kind(kind);
  return part(count(n, label, plural),
    el("ul", { class: "matched" }, texts.map((text) => el("li", {}, said(text || "(no text)")))));
}

function answer({ view }, app) {
  const given = view.answer;
  const details = given
    ? [`model ${given.model}`, `ended by ${given.finish_reason}`, given.created, view.attempt > 0 ? `answer ${view.attempt + 1}` : null]
    : [];
  return el("details", { class: "answer" },
    el("summary", {}, "Raw answer and signature"),
    given ? el("pre", { class: "text", dir: "auto", tabindex: "0" }, ...clipped(given.text || "(empty)"))
      : el("p", {}, view.outcome === "annotated" ? "A reader's annotation has none." : "The judge gave no answer."),
    given ? el("p", { class: "small" }, said(details.filter(Boolean).join(", "))) : null,
    el("p", { class: "mono" }, said(app.view.signature)));
}

function part(title, ...content) {
  return el("section", { class: "part" }, el("h3", {}, title), ...content);
}

function report(title, segments, study) {
  const name = title.toLowerCase();
  const text = segments.length
    ? segments.flatMap(({ text: part, errors }) => clipped(part, (piece) =>
      marked(piece, errors.map((at) => numbered(study, at)), study.labels)))
    : [el("em", {}, "(empty)")];
  return el("section", { class: "report", "aria-labelledby": `${name}-title` },
    el("h3", { id: `${name}-title` }, title),
    el("div", { class: "text", dir: "auto" }, ...text));
}

function edit(rows, study) {
  return el("section", { class: "edit", "aria-labelledby": "edit-title" },
    el("h3", { id: "edit-title" }, "The candidate, corrected"),
    rows.length ? el("ol", { class: "edit-rows" }, rows.map((row) => editRow(row, study)))
      : el("p", {}, "(empty)"));
}

function editRow(row, study) {
  const number = row.line === null ? "+" : String(row.line);
  const tone = row.error === null ? "" : ` tone-${study.labels.grade(study.view.items[row.error]).tone}`;
  return el("li", { class: `edit-row ${row.kind}${tone}`, "data-errors": row.error },
  el("span", { class: "line-number" }, el("span", { class: "unseen" }, row.line === null ? "new line" : "line "),
    row.line === null ? el("span", { "aria-hidden": "true" }, number) : number),
  el("span", { class: "line-text", dir: "auto" }, ...lineText(row)),
  row.error === null ? null : el("a", { class: "error-link", href: `#error-${row.error}`, "data-to": String(row.error) },
    `error ${row.error + 1}`));
}

function lineText(row) {
  const out = (text) => el("del", {}, ...clipped(text, said));
  const put = (text) => el("ins", {}, ...clipped(text, said));
  switch (row.kind) {
    case "same":
      return clipped(row.before, said);
    case "delete":
      return [out(row.before)];
    case "insert":
      return [put(row.after)];
    default:
      return row.diff.flatMap(({ change, text }, at) => {
        if (change === "same") return clipped(text, said);
        if (change === "in") return [put(text)];
        // What is put in right after what is taken out must not run into it.
        const next = row.diff[at + 1];
        const apart = next?.change === "in" && !/\s$/.test(text) && !/^\s/.test(next.text);
        return [out(text), apart ? " " : ""];
      });
  }
}
