// One study: its reports with marked words on the left, and on the right a column for each judge
// or reader with its findings. A column has a `key`, a `letter` before its numbers, a `title`, the
// `record` as `judged_view` makes it, the `labels` of its rubric, and perhaps `facts`, a `note`, a
// `link`, a `review`, and the function `asked` that loads the question.

import { alarm, button, clipped, el, factList, find, goTo, isolated, listed } from "./dom.js";
import { capital, count, differences, mostSevere } from "./format.js";

const SIDES = ["reference", "candidate"];
const PIECES = { same: "span", out: "del", in: "ins" };
const MAX_MARKS = 1000;

const textOf = (segments) => segments.map(({ text }) => text).join("");

export function studySection(study, app) {
  const columns = study.columns.map((column) => ({
    ...column,
    items: (column.record?.items ?? []).map((item, at) => ({
      key: `${column.key}${at}`, name: `${column.letter}${at + 1}`, item, tone: column.labels.grade(item).tone,
    })),
  }));
  const section = el("section", { id: "study", "aria-labelledby": "study-title" },
    head(study, app),
    study.intro,
    el("div", { class: "reading" },
      el("div", { class: "reports" }, SIDES.flatMap((side) => reports(side, columns, app.isDiff))),
      el("div", { class: columns.length > 1 ? "findings several" : "findings" },
        columns.map((column) => findings(column, columns.length > 1)), study.review?.ofStudy())));
  linkMarks(section);
  return section;
}

function head(study, app) {
  const { noun } = app.listing;
  const place = app.rows.indexOf(study.row);
  const step = (by, text, key) => button(text, () => app.step(by), {
    disabled: place < 0 || app.rows[place + by] === undefined, "aria-keyshortcuts": key, "data-act": text,
  });
  return el("header", { class: "study-head" },
    el("nav", { class: "steps", "aria-label": capital(noun.plural) },
      el("a", { href: app.addressOf(null) }, `All ${noun.plural}`),
      step(-1, "Previous", "p"), step(1, "Next", "n"),
      el("span", { class: "small" }, place < 0 ? "outside the filtered list"
        : `${(place + 1).toLocaleString("en")} of ${app.rows.length.toLocaleString("en")}`),
      button("Show differences", () => app.toggleDiff(),
        { "aria-pressed": String(app.isDiff), "aria-keyshortcuts": "d", "data-act": "diff" })),
    el("h2", { id: "study-title", tabindex: "-1" }, `${capital(noun.label)} `, isolated(study.id)),
    factList(study.facts));
}

// A section for each wording of a report.
function reports(side, columns, isDiff) {
  const wordings = new Map();
  for (const column of columns.filter(({ record }) => record)) {
    const text = textOf(column.record[side]);
    wordings.set(text, [...(wordings.get(text) ?? []), column]);
  }
  if (wordings.size > 1) wordings.delete("");  // a reader's file may lack the reports
  return [...wordings].map(([text, sharing], at) => {
    const letters = wordings.size > 1 ? ` ${[...new Set(sharing.map(({ letter }) => letter))].join(", ")}` : "";
    const id = `${side}-${at}`;
    return el("section", { class: `report ${side}`, "aria-labelledby": id },
      el("h3", { id }, capital(side) + letters),
      el("div", { class: "text", dir: "auto" }, text === "" ? el("em", {}, "(empty)")
        : isDiff && side === "candidate" ? differences(textOf(sharing[0].record.reference), text)
          : marked(text, sharing.flatMap((column) => spansOf(column, side)).slice(0, MAX_MARKS))));
  });
}

// The items of a column and their places in its report.
function spansOf({ record, items, isMarked = true }, side) {
  let end = 0;
  return record[side].flatMap(({ text, errors }) => {
    const start = end;
    end += text.length;
    return errors.length && isMarked ? [{ start, end, items: errors.map((error) => items[error]) }] : [];
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
  const { record, labels, title, link, facts = [], note, asked } = column;
  return el("section", { class: "findings-of", "data-column": column.key, "aria-label": title ?? "Findings" },
    hasTitle ? el("h3", {}, isolated(title), link ? [" ", link] : null) : null,
    facts.length ? factList(facts) : null,
    note ? el("p", { class: "small" }, note) : null,
    record ? [record.outcome === "scored" ? judged(column, record, labels) : unscored(record), answer(record, asked)] : null);
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
    record.edits ? part("The candidate, corrected",
      el("ol", { class: "edit-rows" }, listed(record.edits, (row) => editRow(row, column)))) : null,
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
      el("strong", { class: "severity" }, labels.grade(item).label),
      labels.tags(item).map((text) => el("span", {}, text)),
      isLocated || !item.text || item.edit ? null : el("span", { class: "small" }, "not located in the text")),
    el("p", { id: `error-${key}-words`, class: "text", dir: "auto" }, clipped(item.text || (item.edit ? "" : "(no text)"))),
    quotes.map((text) => el("p", { class: "small", dir: "auto" }, clipped(`“${text}”`))),
    review?.cards[at]);
}

// The raw answer; the question is loaded when it is unfolded.
function answer({ answer: reply = null, attempt = 0, outcome }, asked) {
  if (reply === null && !asked) return null;
  const question = el("ul", { class: "plain" });
  const open = async ({ target }) => {
    if (!target.open || !asked || question.childElementCount) return;
    const { messages, missing } = await asked();
    question.replaceChildren(
      el("li", { class: "small" }, "What was asked", missing ? [": ", isolated(missing)] : ""),
      ...listed(messages, ({ step, role, text }) => el("li", {}, el("p", { class: "small" }, isolated([step, role].filter(Boolean).join(": "))),
        el("pre", { class: "text", dir: "auto", tabindex: "0" }, clipped(text)))));
  };
  return el("details", { class: "answer", on: { toggle: (event) => open(event).catch(alarm) } },
    el("summary", {}, asked ? "Raw answer, and what was asked" : "Raw answer"),
    reply ? [el("pre", { class: "text", dir: "auto", tabindex: "0" }, clipped(reply.text || "(empty)")), factList(circumstances(reply, attempt))]
      : el("p", {}, outcome === "scored" ? "A reader's annotation has none." : "The judge gave no answer."),
    question);
}

function circumstances({ model, finish_reason: end, usage }, attempt) {
  const n = (tokens) => (tokens ?? 0).toLocaleString("en");
  return [
    ["model", model], ["ended by", end],
    ["tokens", usage && `${n(usage.prompt_tokens)} asked (${n(usage.cached_tokens)} cached by the provider), ${n(usage.completion_tokens)} answered`],
    ["attempt", attempt > 0 ? attempt + 1 : null],
  ].filter(([, value]) => value).map(([name, value]) => [name, isolated(value)]);
}

function editRow(row, column) {
  const { key, name, tone } = row.error === null ? /** @type {any} */ ({}) : column.items[row.error];
  return el("li", { class: `edit-row${tone ? ` tone-${tone}` : ""}`, "data-errors": key },
    el("span", { class: "line-number" }, el("span", { class: "unseen" }, "line "), row.line === null ? "+" : String(row.line)),
    el("span", { class: "line-text", dir: "auto" },
      row.pieces.map(([change, text]) => el(PIECES[change], {}, clipped(text)))),
    key === undefined ? null : el("a", { class: "small", href: `#error-${key}`, "data-to": key }, `error ${name}`));
}

// Lights up an item wherever it shows; a click on a mark or a link leads to its card.
function linkMarks(root) {
  const light = ({ target }) => {
    const keys = target.closest?.("[data-errors]")?.dataset.errors.split(" ") ?? [];
    for (const element of root.querySelectorAll("[data-errors]")) {
      element.classList.toggle("lit", element.dataset.errors.split(" ").some((key) => keys.includes(key)));
    }
  };
  root.addEventListener("pointerover", light);
  root.addEventListener("focusin", light);
  root.addEventListener("click", (event) => {
    const { to, errors } = event.target.closest("[data-to], mark")?.dataset ?? {};
    if (!to && !errors) return;
    event.preventDefault();
    focusError(root, to ?? errors.split(" ")[0]);
  });
}

export function focusError(root, key) {
  find(`mark[data-errors~="${key}"]`, root)?.scrollIntoView({ block: "nearest" });
  goTo(find(`#error-${key}`, root), "nearest");
}
