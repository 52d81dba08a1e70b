// One study: its reports with marked words on the left, and on the right a column for each judge
// or reader with what it found. A column has a `key`, a `letter` before its numbers, a `title`, the
// `record` as `judged_view` makes it, and the `labels` of its rubric.

import { differences } from "./diff.js";
import { button, clipped, control, copyButton, el, fact, goTo, isolated, option } from "./dom.js";
import { capital, count, gravest, NOTHING } from "./words.js";

const SIDES = ["reference", "candidate"];
// What Python takes for white space, and JavaScript.
const SPACE = /[\s\x1c-\x1f\x85]/g;

export const labelsOf = (item, { labels }) => labels.grade(item);
const textOf = (segments) => segments.map(({ text }) => text).join("");

// `study` has an `id`, a `title`, `facts`, `columns`, and `marks`: whose errors can be marked.
export function studySection(study, app) {
  const columns = study.columns.map((column) => ({
    ...column,
    items: (column.record?.items ?? []).map((item, at) => ({
      key: `${column.key}${at}`, name: `${column.letter}${at + 1}`, item, tone: labelsOf(item, column).tone,
    })),
  }));
  const marking = columns.filter(({ mark }) => !study.marked || mark === study.marked);
  const section = el("section", { id: "study", "aria-labelledby": "study-title" },
    head(study, app),
    study.intro ?? null,
    el("div", { class: "reading" },
      el("div", { class: "reports" }, SIDES.flatMap((side) => reports(side, columns, marking, app))),
      el("div", { class: columns.length > 1 ? "findings several" : "findings" },
        columns.map((column) => findings(column, columns.length > 1)), study.review?.ofStudy() ?? null)));
  linkMarks(section);
  markHits(section, app.query.get("q"));
  return section;
}

function head(study, app) {
  const at = app.rows.indexOf(study.row);
  const step = (by, text, key) => button(text, () => app.step(by), {
    disabled: at < 0 || app.rows[at + by] === undefined, "aria-keyshortcuts": key, "data-next": String(by),
  });
  const { marks, marked } = study;
  const choose = ({ target }) => app.mark(target.value);
  return el("header", { class: "study-head" },
    el("nav", { class: "steps", "aria-label": capital(app.listing.noun.plural) },
      el("a", { href: app.addressOf(null), class: "back" }, `All ${app.listing.noun.plural}`),
      step(-1, "Previous", "p"), step(1, "Next", "n"),
      el("span", { class: "small" }, at < 0 ? "not in the list as it is narrowed"
        : `${(at + 1).toLocaleString("en")} of ${app.rows.length.toLocaleString("en")}`),
      button("Show differences", () => app.toggleDiff(), { "aria-pressed": String(Boolean(app.diff)), "aria-keyshortcuts": "d" }),
      marks?.length > 1 ? control("marks", "Errors marked", el("select", { on: { change: choose } },
        marks.map(({ value, label }) => option(value, label, marked ?? "")))) : null,
      copyButton("Copy as text", () => plainText(study)),
      copyButton("as JSON", () => JSON.stringify(study.columns.map(({ record }) => record), null, 1)),
      copyButton("link", () => location.href)),
    el("h2", { id: "study-title", tabindex: "-1" }, `${study.title} `, isolated(study.id)),
    el("dl", { class: "facts" }, study.facts.map(([name, ...value]) => fact(name, ...value))));
}

function plainText({ id, columns }) {
  const records = columns.filter(({ record }) => record);
  const parts = records.map(({ title, record, labels }) => [title ?? "", ...(record.items ?? []).map((item, at) =>
    `${at + 1}. [${labels.grade(item).label}] ${[...labels.tags(item), item.text].join(": ")}`)].join("\n"));
  const { reference = [], candidate = [] } = records[0]?.record ?? {};
  return [`Study ${id}`, `Reference\n${textOf(reference)}`, `Candidate\n${textOf(candidate)}`, ...parts].join("\n\n");
}

// A section for each wording of a report: what differs in white space alone is one text.
function reports(side, columns, marking, app) {
  const wordings = new Map();
  for (const column of columns.filter(({ record }) => record)) {
    const text = textOf(column.record[side]);
    const letters = text.replaceAll(SPACE, "");
    const wording = wordings.get(letters) ?? { text, columns: [] };
    wordings.set(letters, { ...wording, columns: [...wording.columns, column] });
  }
  if (wordings.size > 1) wordings.delete("");  // a reader's file may lack the reports
  return [...wordings.values()].map(({ text, columns: own }, at) => {
    const letters = wordings.size > 1 ? ` ${[...new Set(own.map(({ letter }) => letter))].join(", ")}` : "";
    const spans = own.filter((column) => marking.includes(column)).flatMap((column) => spansOf(column, side, text));
    const id = `${side}-${at}`;
    const other = app.diff && side === "candidate" && own[0].record && textOf(own[0].record.reference);
    return el("section", { class: `report ${side}`, "aria-labelledby": id },
      el("h3", { id }, capital(side) + letters),
      el("div", { class: "text", dir: "auto" }, text === "" ? el("em", {}, "(empty)") : other ? differences(other, text) : pieces(text, spans)));
  });
}

// Where a column's items are marked in `text`, which has the same letters as the column's report.
function spansOf({ record, items }, side, text) {
  const segments = record[side];
  const isSame = textOf(segments) === text;
  const places = isSame ? null : [...text.matchAll(/[^\s\x1c-\x1f\x85]/g)].map(({ index }) => index);
  let at = 0;
  return segments.flatMap(({ text: part, errors }) => {
    const begin = at;
    at += isSame ? part.length : part.replaceAll(SPACE, "").length;
    if (!errors.length || at === begin) return [];
    const [start, end] = isSame ? [begin, at] : [places[begin], places[at - 1] + 1];
    return [{ start, end, items: errors.map((error) => items[error]) }];
  });
}

// The text with marks; an item's number is where its mark ends.
function pieces(text, spans) {
  const edges = [...new Set([0, ...spans.flatMap(({ start, end }) => [start, end]), text.length])].sort((a, b) => a - b);
  const parts = edges.slice(1).map((end, at) => ({
    text: text.slice(edges[at], end),
    items: spans.filter((span) => span.start <= edges[at] && end <= span.end).flatMap(({ items }) => items),
  }));
  return parts.flatMap(({ text: part, items }, at) => {
    if (!items.length) return clipped(part);
    const ended = items.filter((item) => !parts[at + 1]?.items.includes(item));
    return clipped(part, (piece) => el("mark", {
      class: `tone-${gravest(items.map(({ tone }) => tone))}`, tabindex: "0",
      "data-errors": items.map(({ key }) => key).join(" "),
      "aria-describedby": items.map(({ key }) => `error-${key}-words`).join(" "),
    }, el("bdi", {}, piece), ended.length
      ? el("sup", { "aria-hidden": "true", "data-numbers": ended.map(({ name }) => name).join(" ") }) : null));
  });
}

function findings(column, hasTitle) {
  const { record, labels, title, link, facts = [], note = null } = column;
  const section = el("section", { class: "findings-of", "data-column": column.key, "aria-label": title ?? "Findings" },
    hasTitle ? el("h3", {}, isolated(title), link ? [" ", link] : null) : null,
    facts.length ? el("dl", { class: "facts" }, facts.map(([name, ...value]) => fact(name, ...value))) : null,
    note ? el("p", { class: "small" }, note) : null);
  if (record) section.append(...judged(column, record, labels));
  return section;
}

function judged(column, record, labels) {
  if (record.outcome !== "annotated") {
    return [el("div", { class: "unscored" },
      el("h3", {}, capital(record.outcome), ": ", isolated(record.reason ?? "")),
      el("p", { class: "text" }, ...clipped(record.detail || "No further details.")),
      el("p", { class: "small" }, "Not scored: counted beside the rates, never in them.")), answer(record, column)].filter(Boolean);
  }
  const n = column.items.length;
  const { label, plural } = labels.noun;
  const list = ({ kind, n: total, texts }) => part(count(total, labels.kind(kind).label, labels.kind(kind).plural),
    el("ul", { class: "matched" }, texts.map((text) => el("li", {}, isolated(text || "(no text)")))));
  return [
    labels.hasGraded ? part(n ? count(n, label, plural) : `No ${label}`,
      record.differs.map(({ grade, listed, stated }) => el("p", { class: "small" },
        `The answer's own counts say ${stated} ${labels.grades.labelOf.get(grade).label}; it lists ${listed}. The counts hold.`)),
      n ? el("ol", { class: "errors" }, column.items.map((shown, at) => card(shown, at, column))) : null) : null,
    record.edits ? part("The candidate, corrected", record.edits.length
      ? el("ol", { class: "edit-rows" }, record.edits.map((row) => editRow(row, column))) : el("p", {}, "(empty)")) : null,
    ...record.lists.map(list),
    record.explanation ? part("The judge's explanation", el("p", { class: "text", dir: "auto" }, ...clipped(record.explanation))) : null,
    record.warnings.length ? part("Warnings about the answer",
      el("ul", {}, record.warnings.map((warning) => el("li", {}, isolated(warning))))) : null,
    answer(record, column),
  ].filter(Boolean);
}

function part(title, ...content) {
  return el("section", { class: "part" }, el("h4", {}, title), ...content);
}

function card({ key, name, item, tone }, at, { record, labels, review }) {
  const sides = SIDES.filter((side) => record[side].some(({ errors }) => errors.includes(at)));
  const where = sides.length ? null : item.text && !item.edit ? "not located in the text" : null;
  return el("li", { id: `error-${key}`, class: `error tone-${tone}`, tabindex: "-1", "data-errors": key },
    el("p", { class: "error-head" },
      el("span", { class: "error-number" }, el("span", { class: "unseen" }, `${capital(labels.kind(item.kind).label)} `), name),
      el("strong", { class: `severity tone-${tone}` }, labels.grade(item).label),
      labels.tags(item).map((text) => el("span", { class: "category" }, text)),
      where ? el("span", { class: "small" }, where) : null),
    el("p", { id: `error-${key}-words`, class: "text", dir: "auto" }, ...clipped(item.text || (item.edit ? "" : "(no text)"))),
    (item.quotes ?? []).map((text) => el("p", { class: "small", dir: "auto" }, ...clipped(`“${text}”`))),
    review?.item(at) ?? null);
}

function answer(record, { signature = null }) {
  const { answer: reply = null, attempt } = record;
  if (!reply && !signature) return null;
  const details = reply ? [`model ${reply.model}`, `ended by ${reply.finish_reason}`, reply.created,
    reply.prompt_tokens ? `${reply.prompt_tokens} + ${reply.completion_tokens} tokens` : null, attempt > 0 ? `answer ${attempt + 1}` : null] : [];
  return el("details", { class: "answer" },
    el("summary", {}, "Raw answer and signature"),
    reply ? el("pre", { class: "text", dir: "auto", tabindex: "0" }, ...clipped(reply.text || "(empty)"))
      : el("p", {}, record.outcome === "annotated" ? "A reader's annotation has none." : "The judge gave no answer."),
    reply ? el("p", { class: "small" }, isolated(details.filter(Boolean).join(", "))) : null,
    signature ? el("p", { class: "mono" }, isolated(signature)) : null);
}

function editRow(row, column) {
  const { key, name, tone } = row.error === null ? {} : column.items[row.error];
  return el("li", { class: `edit-row ${row.kind}${tone ? ` tone-${tone}` : ""}`, "data-errors": key },
    el("span", { class: "line-number" }, el("span", { class: "unseen" }, row.line === null ? "new line" : "line "),
      row.line === null ? el("span", { "aria-hidden": "true" }, "+") : String(row.line)),
    el("span", { class: "line-text", dir: "auto" }, ...lineText(row)),
    key === undefined ? null : el("a", { class: "error-link", href: `#error-${key}`, "data-to": key }, `error ${name}`));
}

function lineText({ kind, before, after }) {
  if (kind === "same") return clipped(before);
  if (kind === "change") return differences(before, after);
  return kind === "delete" ? [el("del", {}, ...clipped(before))] : [el("ins", {}, ...clipped(after))];
}

// Lights up an item wherever it shows; a click on what belongs to it leads to its card.
function linkMarks(root) {
  const light = (keys) => root.querySelectorAll("[data-errors]").forEach((element) =>
    element.classList.toggle("lit", element.dataset.errors.split(" ").some((key) => keys.includes(key))));
  const over = ({ target }) => light(target.closest?.("[data-errors]")?.dataset.errors.split(" ") ?? []);
  root.addEventListener("pointerover", over);
  root.addEventListener("focusin", over);
  root.addEventListener("pointerleave", () => light([]));
  root.addEventListener("click", (event) => {
    const link = event.target.closest("[data-to]");
    const mark = event.target.closest("mark");
    if (!link && !mark) return;
    event.preventDefault();
    focusError(root, link ? link.dataset.to : mark.dataset.errors.split(" ")[0]);
  });
}

export function focusError(root, key) {
  const card_ = root.querySelector(`#error-${key}`);
  goTo(card_, "nearest");
  const words = card_ && root.querySelector(`mark[data-errors~="${key}"]`);
  if (words && matchMedia("(min-width: 62rem)").matches) words.scrollIntoView({ block: "nearest" });
}

// The words of a search where they stand, by a highlight that changes no element.
function markHits(root, text) {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.delete("hits");
  const words = text?.trim().toLowerCase().split(/\s+/);
  if (!words) return;
  const hits = new Highlight();
  for (const box of root.querySelectorAll(".report .text, .error .text, .matched")) {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const lower = node.data.toLowerCase();
      if (lower.length !== node.length) continue;
      for (const word of words) {
        for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + word.length);
          hits.add(range);
        }
      }
    }
  }
  CSS.highlights.set("hits", hits);
}

// A count; none is quiet.
export function pill(n, tone) {
  if (!n) return el("span", { class: "zero" }, n === 0 ? "0" : NOTHING);
  return el("span", { class: tone ? `pill tone-${tone}` : "pill" }, String(n));
}
