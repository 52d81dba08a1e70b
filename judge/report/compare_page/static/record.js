// What one judge made of a study: its items' words marked in the reports, its counts and items.

import { clipped, el, fact, said } from "./dom.js";
import { differing, itemCard, marked, sidesOf } from "./items.js";
import { overlaid, textOf } from "./overlay.js";
import { capital, count, gravest, itemLabels, NOTHING } from "./words.js";

// A report as words of the page, marked with the items of `marking`: records of one wording.
export function report(text, side, marking) {
  const [pieces] = marks([text], side, marking);
  return el("div", { class: "text", dir: "auto" }, ...(text ? pieces : [el("em", {}, "(empty)")]));
}

function marks(texts, side, marking) {
  const versions = marking.map((record) =>
    record[side].map(({ text, errors }) => ({ text, errors: errors.map((at) => record.shown[at]) })));
  return overlaid(texts, versions).map((pieces) => pieces.flatMap(({ text, errors }) =>
    clipped(text, (piece) => (errors.length ? marked(piece, errors, ofAll(errors)) : said(piece)))));
}

// Items of several records, each of which has labels of its own.
function ofAll(errors) {
  return { gravest: () => gravest(errors.map(({ item, labels }) => labels.grade(item).tone)) };
}

// A candidate's text; where corrections name its lines, the lines with their numbers.
export function words(records, marking) {
  const lines = records.find((record) => record.lines?.length)?.lines;
  if (!lines) return report(textOf(records[0].candidate), "candidate", marking);
  return el("ol", { class: "lines", start: "0" },
    marks(lines, "candidate", marking).map((line) => el("li", { class: "text", dir: "auto" }, ...line)));
}

// A record with its items as they are shown: `letter` names them, `key` is its own on the page.
export function withItems(record, rubric, key, letter) {
  const labels = itemLabels(rubric);
  const shown = (record.items ?? []).map((item, at) => ({ key: `${key}-${at}`, name: `${letter}${at + 1}`, item, labels }));
  return { ...record, shown, labels };
}

export function judged(record, rubric, link) {
  const { labels } = record;
  const part = el("div", { class: "part" }, el("h5", {}, said(rubric.title), link ? " " : null, link));
  if (record.outcome !== "annotated") {
    part.append(el("p", {}, capital(record.outcome), ": ", said(record.reason ?? "")),
      el("p", { class: "small" }, said(record.detail || "Nothing more is known.")));
    return part;
  }
  const pill = (n, tone) => el("span", { class: tone ? `pill tone-${tone}` : "pill" }, String(n ?? NOTHING));
  const counts = [
    ...rubric.counts.map(({ name, label, tone }) => fact(label, pill(record.measures[name], tone))),
    ...record.lists.map(({ kind, n }) => fact(labels.kind(kind).plural, pill(n))),
  ];
  if (counts.length) part.append(el("dl", { class: "facts counts" }, counts));
  part.append(...differing(record, labels));
  if (record.shown.length) {
    part.append(el("ol", { class: "errors" }, record.shown.map((one, at) => itemCard(one, labels, sidesOf(record, at),
      one.item.edit ? el("p", { class: "small" }, ...editWords(one.item.edit)) : null))));
  } else if (labels.hasGraded) part.append(el("p", {}, `No ${labels.noun.label}.`));
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

function editWords({ kind, line, corrected }) {
  if (kind === "delete") return [`Delete line ${line}.`];
  const where = kind === "change" ? `Change line ${line} to: `
    : line === null ? "Insert at the end: " : `Insert before line ${line}: `;
  return [where, el("ins", {}, said(corrected))];
}
