// One study: its reports with marked words on the left, and on the right a column for each judge
// or reader with its findings. A column has a `key`, a `letter` before its numbers, a `title`, the
// `record` as `judged_view` makes it, and the `labels` of its rubric.

import { alarm, button, clipped, control, copyButton, el, fact, find, goTo, isolated, listed, option } from "./dom.js";
import { NO_VALUE, capital, count, differences, mostSevere } from "./format.js";

const SIDES = ["reference", "candidate"];
// White space of Python and of JavaScript.
const SPACE = /[\s\x1c-\x1f\x85]/g;
const PIECES = { same: "span", out: "del", in: "ins" };
const MAX_MARKS = 1000;
const MAX_HITS = 2000;

const textOf = (segments) => segments.map(({ text }) => text).join("");

export function studySection(study, app) {
  const columns = study.columns.map((column) => ({
    ...column,
    items: (column.record?.items ?? []).map((item, at) => ({
      key: `${column.key}${at}`, name: `${column.letter}${at + 1}`, item, tone: column.labels.grade(item).tone,
    })),
  }));
  const marking = columns.filter(({ mark }) => !study.marked || mark === study.marked);
  const section = el("section", { id: "study", "aria-labelledby": "study-title" },
    head(study, app),
    study.intro,
    el("div", { class: "reading" },
      el("div", { class: "reports" }, SIDES.flatMap((side) => reports(side, columns, marking, app.diff))),
      el("div", { class: columns.length > 1 ? "findings several" : "findings" },
        columns.map((column) => findings(column, columns.length > 1)), study.review?.ofStudy())));
  linkMarks(section);
  markHits(section, app.query.get("q"));
  return section;
}

function head(study, app) {
  const { noun } = app.listing;
  const place = app.rows.indexOf(study.row);
  const step = (by, text, key) => button(text, () => app.step(by), {
    disabled: place < 0 || app.rows[place + by] === undefined, "aria-keyshortcuts": key, "data-next": String(by),
  });
  const { marks, marked } = study;
  const change = ({ target }) => app.mark(target.value);
  return el("header", { class: "study-head" },
    el("nav", { class: "steps", "aria-label": capital(noun.plural) },
      el("a", { href: app.addressOf(null), class: "back" }, `All ${noun.plural}`),
      step(-1, "Previous", "p"), step(1, "Next", "n"),
      el("span", { class: "small" }, place < 0 ? "outside the filtered list"
        : `${(place + 1).toLocaleString("en")} of ${app.rows.length.toLocaleString("en")}`),
      button("Show differences", () => app.toggleDiff(), { "aria-pressed": String(app.diff), "aria-keyshortcuts": "d" }),
      marks?.length > 1 ? control("marks", "Errors marked", el("select", { on: { change } },
        marks.map(({ value, label }) => option(value, label, marked ?? "")))) : null,
      copyButton("Copy as text", () => plainText(study)),
      copyButton("as JSON", () => JSON.stringify(study.columns.map(({ record }) => record), null, 1)),
      copyButton("link", () => location.href)),
    el("h2", { id: "study-title", tabindex: "-1" }, `${study.title} `, isolated(study.id)),
    el("dl", { class: "facts" }, study.facts.map(([name, ...value]) => fact(name, ...value))));
}

function plainText({ id, columns }) {
  const judged = columns.filter(({ record }) => record);
  const parts = judged.map(({ title, record, labels }) => [title ?? "", ...(record.items ?? []).map((item, at) =>
    `${at + 1}. [${labels.grade(item).label}] ${[...labels.tags(item), item.text].join(": ")}`)].join("\n"));
  const { reference = [], candidate = [] } = judged[0]?.record ?? {};
  return [`Study ${id}`, `Reference\n${textOf(reference)}`, `Candidate\n${textOf(candidate)}`, ...parts].join("\n\n");
}

// A section for each wording of a report; texts that differ in white space alone are one.
function reports(side, columns, marking, isDiff) {
  const wordings = new Map();
  for (const column of columns.filter(({ record }) => record)) {
    const text = textOf(column.record[side]);
    const letters = text.replaceAll(SPACE, "");
    if (!wordings.has(letters)) wordings.set(letters, { text, columns: [] });
    wordings.get(letters).columns.push(column);
  }
  if (wordings.size > 1) wordings.delete("");  // a reader's file may lack the reports
  return [...wordings.values()].map(({ text, columns: sharing }, at) => {
    const letters = wordings.size > 1 ? ` ${[...new Set(sharing.map(({ letter }) => letter))].join(", ")}` : "";
    const spans = sharing.filter((column) => marking.includes(column)).flatMap((column) => spansOf(column, side, text));
    const id = `${side}-${at}`;
    const reference = isDiff && side === "candidate" && textOf(sharing[0].record.reference);
    return el("section", { class: `report ${side}`, "aria-labelledby": id },
      el("h3", { id }, capital(side) + letters),
      el("div", { class: "text", dir: "auto" }, text === "" ? el("em", {}, "(empty)")
        : reference ? differences(reference, text) : marked(text, spans.slice(0, MAX_MARKS))));
  });
}

// The items of a column and their places in `text`, which has the same letters as its own report.
function spansOf({ record, items }, side, text) {
  const segments = record[side];
  const isSame = textOf(segments) === text;
  const places = isSame ? null : [...text.matchAll(/[^\s\x1c-\x1f\x85]/g)].map(({ index }) => index);
  let end = 0;
  return segments.flatMap(({ text: part, errors }) => {
    const start = end;
    end += isSame ? part.length : part.replaceAll(SPACE, "").length;
    if (!errors.length || end === start) return [];
    return [{
      start: isSame ? start : places[start],
      end: isSame ? end : places[end - 1] + 1,
      items: errors.map((error) => items[error]),
    }];
  });
}

// The text with marks; an item's number is where its mark ends.
function marked(text, spans) {
  const edges = [...new Set([0, ...spans.flatMap(({ start, end }) => [start, end]), text.length])].sort((a, b) => a - b);
  const parts = edges.slice(1).map((end, at) => ({
    text: text.slice(edges[at], end),
    items: spans.filter((span) => span.start <= edges[at] && end <= span.end).flatMap(({ items }) => items),
  }));
  return parts.flatMap(({ text: part, items }, at) => {
    if (!items.length) return clipped(part);
    const ended = items.filter((item) => !parts[at + 1]?.items.includes(item));
    return clipped(part, (piece) => el("mark", {
      class: `tone-${mostSevere(items.map(({ tone }) => tone))}`, tabindex: "0",
      "data-errors": items.map(({ key }) => key).join(" "),
      "aria-describedby": items.map(({ key }) => `error-${key}-words`).join(" "),
    }, isolated(piece), ended.length
      ? el("sup", { "aria-hidden": "true", "data-numbers": ended.map(({ name }) => name).join(" ") }) : null));
  });
}

function findings(column, hasTitle) {
  const { record, labels, title, link, facts = [], note = null } = column;
  return el("section", { class: "findings-of", "data-column": column.key, "aria-label": title ?? "Findings" },
    hasTitle ? el("h3", {}, isolated(title), link ? [" ", link] : null) : null,
    facts.length ? el("dl", { class: "facts" }, facts.map(([name, ...value]) => fact(name, ...value))) : null,
    note ? el("p", { class: "small" }, note) : null,
    record ? [record.outcome === "annotated" ? judged(column, record, labels) : unscored(record), answer(record, column.asked)] : null);
}

function unscored({ outcome, reason, detail }) {
  return el("div", { class: "unscored" },
    el("h3", {}, capital(outcome), ": ", isolated(reason ?? "")),
    el("p", { class: "text" }, clipped(detail || "No further details.")),
    el("p", { class: "small" }, "This study has no score and is not part of any rate."));
}

function judged(column, record, labels) {
  const { items } = column;
  const { label, plural } = labels.noun;
  return [
    labels.hasGraded ? part(items.length ? count(items.length, label, plural) : `No ${label}`,
      record.differs.map(({ grade, listed: n, stated }) => el("p", { class: "small" },
        `The answer states ${stated} ${labels.grades.labelOf.get(grade).label} and lists ${n}. The stated number counts.`)),
      items.length ? el("ol", { class: "errors" }, listed(items, (shown, at) => card(shown, at, column))) : null) : null,
    record.edits ? part("The candidate, corrected", record.edits.length
      ? el("ol", { class: "edit-rows" }, listed(record.edits, (row) => editRow(row, column))) : el("p", {}, "(empty)")) : null,
    ...record.lists.map(({ kind, n, texts }) => part(count(n, labels.kind(kind).label, labels.kind(kind).plural),
      el("ul", { class: "matched" }, listed(texts, (text) => el("li", {}, clipped(text || "(no text)")))))),
    record.explanation ? part("The judge's explanation", el("p", { class: "text", dir: "auto" }, clipped(record.explanation))) : null,
    record.warnings.length ? part("Warnings about the answer",
      el("ul", {}, listed(record.warnings, (warning) => el("li", {}, clipped(warning))))) : null,
  ];
}

function part(title, ...content) {
  return el("section", { class: "part" }, el("h4", {}, title), ...content);
}

function card({ key, name, item, tone }, at, { record, labels, review }) {
  const isLocated = SIDES.some((side) => record[side].some(({ errors }) => errors.includes(at)));
  // A quote that the text has already is not repeated.
  const quotes = (item.quotes ?? []).filter((quote) => quote && !item.text.includes(quote));
  return el("li", { id: `error-${key}`, class: `error tone-${tone}`, tabindex: "-1", "data-errors": key },
    el("p", { class: "error-head" },
      el("span", { class: "error-number" }, el("span", { class: "unseen" }, `${capital(labels.kind(item.kind).label)} `), name),
      el("strong", { class: `severity tone-${tone}` }, labels.grade(item).label),
      labels.tags(item).map((text) => el("span", { class: "category" }, text)),
      isLocated || !item.text || item.edit ? null : el("span", { class: "small" }, "not located in the text")),
    el("p", { id: `error-${key}-words`, class: "text", dir: "auto" }, clipped(item.text || (item.edit ? "" : "(no text)"))),
    quotes.map((text) => el("p", { class: "small", dir: "auto" }, clipped(`“${text}”`))),
    review?.cards[at]);
}

// The raw answer with its circumstances; the question is loaded when it is unfolded.
function answer({ answer: reply = null, attempt = 0, outcome }, asked) {
  if (reply === null && !asked) return null;
  const question = el("div", {});
  const facts = el("dl", { class: "facts" }, reply ? circumstances(reply, attempt).map(([name, value]) => fact(name, isolated(value))) : null);
  const open = async ({ target }) => {
    if (!target.open || !asked || question.childElementCount) return;
    const { messages, missing } = await asked();
    question.replaceChildren(el("h4", {}, "What was asked"), missing ? el("p", { class: "small" }, isolated(missing)) : "",
      ...listed(messages, ({ step, role, text }) => el("div", {}, el("p", { class: "small" }, isolated([step, role].filter(Boolean).join(": "))),
        el("pre", { class: "text", dir: "auto", tabindex: "0" }, clipped(text))), "p"));
  };
  return el("details", { class: "answer", on: { toggle: (event) => open(event).catch(alarm) } },
    el("summary", {}, asked ? "Raw answer, and what was asked" : "Raw answer"),
    reply ? el("pre", { class: "text", dir: "auto", tabindex: "0" }, clipped(reply.text || "(empty)"))
      : el("p", {}, outcome === "annotated" ? "A reader's annotation has none." : "The judge gave no answer."),
    facts, question);
}

function circumstances({ model, finish_reason: end, created, usage }, attempt) {
  const n = (tokens) => tokens.toLocaleString("en");
  return [
    ["model", model], ["ended by", end], ["answered", created ?? ""],
    ["tokens asked", usage && n(usage.prompt_tokens) + (usage.cached_tokens ? ` (${n(usage.cached_tokens)} cached by the provider)` : "")],
    ["tokens answered", usage && n(usage.completion_tokens)],
    ["attempt", attempt > 0 ? String(attempt + 1) : ""],
  ].filter(([, value]) => value);
}

function editRow(row, column) {
  const { key, name, tone } = row.error === null ? /** @type {any} */ ({}) : column.items[row.error];
  return el("li", { class: `edit-row ${row.kind}${tone ? ` tone-${tone}` : ""}`, "data-errors": key },
    el("span", { class: "line-number" }, el("span", { class: "unseen" }, row.line === null ? "new line" : "line "),
      row.line === null ? el("span", { "aria-hidden": "true" }, "+") : String(row.line)),
    el("span", { class: "line-text", dir: "auto" },
      row.pieces.map(([change, text]) => el(PIECES[change], {}, clipped(text)))),
    key === undefined ? null : el("a", { class: "error-link", href: `#error-${key}`, "data-to": key }, `error ${name}`));
}

// Lights up an item wherever it shows; a click on a mark or a link leads to its card.
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
  const element = find(`#error-${key}`, root);
  goTo(element, "nearest");
  const mark = element && find(`mark[data-errors~="${key}"]`, root);
  if (mark && matchMedia("(min-width: 62rem)").matches) mark.scrollIntoView({ block: "nearest" });
}

// The words of a search, by a highlight that changes no element.
function markHits(root, query) {
  if (!CSS.highlights) return;
  CSS.highlights.delete("hits");
  const words = query?.trim().toLowerCase().split(/\s+/);
  if (!words) return;
  const hits = new Highlight();
  for (const box of root.querySelectorAll(".report .text, .error .text, .matched")) {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.nodeValue.toLowerCase();
      if (text.length !== node.nodeValue.length) continue;
      for (const word of words) {
        for (let at = text.indexOf(word); at >= 0 && hits.size < MAX_HITS; at = text.indexOf(word, at + word.length)) {
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

// A count in a pill of its tone; zero is quiet.
export function pill(n, tone) {
  if (!n) return el("span", { class: "zero" }, n === 0 ? "0" : NO_VALUE);
  return el("span", { class: tone ? `pill tone-${tone}` : "pill" }, String(n));
}
