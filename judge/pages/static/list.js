// The list of a view: its rows filtered, sorted and paged over columns in memory, with the form
// that filters it. A query is the part of the address after the #.

import { announce, button, control, copyButton, el, find, grid, isolated, option } from "./dom.js";
import { count } from "./format.js";
import { remember, remembered } from "./keys.js";

const LIMIT = 50;
const WAIT_MS = 120;
const BRIEF = 20;
const AROUND = 40;
const RANGE = { min: "≥", max: "≤" };

const isNumber = (text) => text.trim() !== "" && Number.isFinite(Number(text));

/**
 * A filter: a "choice" among `choices` of the `values(query)(row)`, a "text" that `value(row)`
 * contains, or a "range" of it.
 * @typedef {{ name: string, label: string, kind: string, [key: string]: any }} Filter
 */

// `ids` are those of the rows and `order` is the rank of each, where no other is asked for. A
// column has a `name`, a `label`, a `kind`, its `value(row)` and perhaps `draw(row)`.
// `search(text)` gives the matching rows, a Set.
export class Listing {
  noun = { label: "study", plural: "studies" };
  /** @type {any[]} */
  ids;
  /** @type {any[]} */
  columns;
  /** @type {Filter[]} */
  filters;
  /** @type {any} */
  last = { key: null };
  searched = "Search";
  key; order; ordered; about; search; snippet;

  constructor(parts) {
    Object.assign(this, parts);
    this.n = this.ids.length;
    this.rowOf = new Map(this.ids.map((id, row) => [id, row]));
    this.columnOf = new Map(this.columns.map((column) => [column.name, column]));
  }

  forget() {
    this.last = { key: null };
  }

  // Sentences on the words of a query that cannot be applied, by their names.
  faults(query, params) {
    const known = {
      q: () => this.search, sort: (name) => this.columnOf.has(name),
      descending: (word) => ["true", "false"].includes(word), offset: (text) => /^\d{1,9}$/.test(text),
    };
    for (const { name, kind, choices } of [...this.filters, ...params.values()]) {
      if (kind === "range") known[`min.${name}`] = known[`max.${name}`] = isNumber;
      else known[name] = (value) => kind === "text" || choices.some((choice) => choice.value === value);
    }
    return new Map([...query].flatMap(([name, value]) => {
      if (!Object.hasOwn(known, name)) return [[name, `there is no filter ${name}`]];
      if (known[name](value)) return [];
      return [[name, known[name] === isNumber ? `${name} is no number: ${value}` : `${name} has no value ${value}`]];
    }));
  }

  #tests(query) {
    const tests = [];
    for (const filter of this.filters) {
      const { name, kind } = filter;
      const wanted = query.get(name);
      if (kind === "range") {
        for (const [end, fits] of Object.entries({ min: (a, b) => a >= b, max: (a, b) => a <= b })) {
          const bound = query.get(`${end}.${name}`);
          if (bound !== null) tests.push({ filter, test: (row) => filter.value(row) !== null && fits(filter.value(row), Number(bound)) });
        }
      } else if (wanted !== null && kind === "choice") {
        const values = filter.values(query);
        tests.push({ filter, test: (row) => values(row).includes(wanted) });
      } else if (wanted) {
        tests.push({ filter, test: (row) => String(filter.value(row) ?? "").toLowerCase().includes(wanted.toLowerCase()) });
      }
    }
    return tests;
  }

  // The rows that match, in order, and by choice filter the number of rows that each of its
  // choices would leave.
  async survey(query) {
    const key = [...query].filter(([name]) => name !== "offset").join("\n");
    if (this.last.key === key) return this.last;
    const tests = this.#tests(query);
    const text = query.get("q")?.trim();
    if (text) {
      const hits = await this.search(text);
      tests.push({ filter: null, test: (row) => hits.has(row) });
    }
    const choices = this.filters.filter(({ kind }) => kind === "choice")
      .map((filter) => ({ filter, values: filter.values(query), n: new Map(), all: 0 }));
    const rows = [];
    for (let row = 0; row < this.n; row += 1) {
      const failing = tests.filter(({ test }) => !test(row));
      if (!failing.length) rows.push(row);
      if (failing.length > 1) continue;
      for (const choice of choices) {
        if (failing.length && failing[0].filter !== choice.filter) continue;
        choice.all += 1;
        for (const value of choice.values(row)) choice.n.set(value, (choice.n.get(value) ?? 0) + 1);
      }
    }
    this.last = { key, rows: rows.sort(this.#comparison(query)), counts: new Map(choices.map((choice) => [choice.filter.name, choice])) };
    return this.last;
  }

  #comparison(query) {
    const column = this.columnOf.get(query.get("sort"));
    if (!column) return (a, b) => (this.order ? this.order[a] - this.order[b] : a - b);
    const compare = comparison(column.value, query.get("descending") === "true");
    return (a, b) => compare(a, b) || a - b;
  }
}

// An order by a value, of which a missing one comes last either way.
export function comparison(valueOf, isDescending) {
  const sign = isDescending ? -1 : 1;
  return (a, b) => {
    const [left, right] = [valueOf(a) ?? null, valueOf(b) ?? null];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    const areNumbers = typeof left === "number" && typeof right === "number";
    const [first, second] = areNumbers ? [left, right] : [String(left), String(right)];
    return first < second ? -sign : first > second ? sign : 0;
  };
}

// A filter by one of few values, each a text or an object with `value` and `label`.
export function choiceFilter(name, label, values, read, more = false) {
  const choices = values.map((value) => (typeof value === "object" ? value : { value, label: value }));
  return { name, label, kind: "choice", choices, values: () => (row) => [read(row)].flat(), more };
}

// The rank of each row by its value, the greatest first.
export function orderBy(values, weigh) {
  const order = new Int32Array(values.length);
  const sorted = [...values.keys()].sort((a, b) => weigh(values[b]) - weigh(values[a]) || a - b);
  sorted.forEach((row, rank) => { order[row] = rank; });
  return order;
}

// The columns that the reader chose, remembered by the browser under the list's key.
function chosenColumns(listing) {
  return new URLSearchParams(remembered(`judge.columns.${listing.key}`) ?? "");
}

function isShown({ name, kind, shown = true }, chosen) {
  return kind === "id" || (chosen.has(name) ? chosen.get(name) === "yes" : shown);
}

export function columnsControl(app) {
  const { listing } = app;
  const chosen = chosenColumns(listing);
  const change = ({ target }) => {
    chosen.set(target.dataset.column, target.checked ? "yes" : "no");
    remember(`judge.columns.${listing.key}`, chosen.toString());
    drawList(app);
  };
  return el("details", { id: "columns" }, el("summary", {}, "Columns"),
    el("div", { class: "boxes" }, listing.columns.filter(({ kind }) => kind !== "id").map((column) => el("label", {},
      el("input", { type: "checkbox", checked: isShown(column, chosen), "data-column": column.name, on: { change } }),
      isolated(column.label)))));
}

// The form of a listing; `app.set` is given the changes of the query.
export function filterForm(listing, app) {
  let timer = null;
  const id = (name) => `filter-${name.replace(/[^A-Za-z0-9_-]/g, (sign) => `_${sign.codePointAt(0)}`)}`;
  const typed = (name, label, properties) => {
    const input = ({ target }) => {
      clearTimeout(timer);
      timer = setTimeout(() => app.set({ [name]: target.value || null }), WAIT_MS);
    };
    return control(id(name), isolated(label), el("input", { autocomplete: "off", "data-filter": name, ...properties, on: { input } }));
  };
  const drawn = (filter) => {
    const { name, label, kind } = filter;
    if (kind === "text") return typed(name, `${label} contains`, { type: "search" });
    if (kind === "choice") {
      const change = ({ target }) => app.set({ [name]: filter.choices[target.value]?.value ?? null });
      return control(id(name), isolated(label), el("select", { "data-filter": name, on: { change } }));
    }
    const end = (word, text, value) => typed(`${word}.${name}`, text, {
      type: "number", step: "any", inputmode: "decimal", placeholder: String(Math.round(value * 1000) / 1000),
    });
    return el("fieldset", { class: "range" }, el("legend", {}, isolated(label)), end("min", "from", filter.low), end("max", "to", filter.high));
  };
  const further = listing.filters.filter(({ more }) => more);
  const isOpen = further.some(({ name }) => ["", "min.", "max."].some((end) => app.query.has(end + name)));
  return el("form", { class: "filters", role: "search", "aria-label": listing.noun.plural, on: { submit: (event) => event.preventDefault() } },
    el("div", { class: "controls" },
      listing.search ? typed("q", listing.searched, { type: "search", class: "wide", "aria-keyshortcuts": "/" }) : null,
      listing.filters.filter(({ more }) => !more).map(drawn)),
    further.length ? el("details", { class: "more", open: isOpen }, el("summary", {}, "By score and further fields"),
      el("div", { class: "controls" }, further.map(drawn))) : null);
}

// The form as the query has it, each choice with the number of rows it would leave.
function fillForm(form, query, counts) {
  for (const field of form.querySelectorAll("[data-filter]")) {
    const name = field.dataset.filter;
    const wanted = query.get(name);
    if (!field.matches("select")) {
      if (field !== document.activeElement) field.value = wanted ?? "";
      continue;
    }
    const { filter: { choices }, n, all } = counts.get(name);
    const entry = ({ value, label }, at) => (n.has(value) || value === wanted
      ? option(String(at), `${label} (${(n.get(value) ?? 0).toLocaleString("en")})`) : null);
    field.replaceChildren(...[option("", `all (${all.toLocaleString("en")})`), ...choices.map(entry)].filter(Boolean));
    field.value = wanted === null ? "" : String(choices.findIndex(({ value }) => value === wanted));
  }
}

export async function drawList(app) {
  const { listing, query } = app;
  const { rows, counts } = await listing.survey(query);
  if (app.listing !== listing || app.query !== query) return;
  app.rows = rows;
  fillForm(app.form, query, counts);
  const offset = Math.min(Number(query.get("offset") ?? 0), Math.max(0, rows.length - 1));
  const { sort, step } = /** @type {any} */ (document.activeElement)?.dataset ?? {};
  app.list.replaceChildren(summary(app), table(rows.slice(offset, offset + LIMIT), app), pager(offset, app));
  if (sort) find(`[data-sort="${CSS.escape(sort)}"]`, app.list)?.focus();
  if (step) find(`[data-step="${step}"]:enabled`, app.list)?.focus();
  announce(`${count(rows.length, listing.noun.label, listing.noun.plural)} of ${listing.n} match`);
}

// The start of the page of the list that has a row.
export function offsetOf(row) {
  return row - (row % LIMIT) || null;
}

function summary(app) {
  const { listing, query, rows } = app;
  const { label, plural } = listing.noun;
  const column = listing.columnOf.get(query.get("sort"));
  const about = listing.about?.(rows);
  return el("div", { class: "count" },
    rows.length === listing.n ? count(listing.n, label, plural) : `${rows.length.toLocaleString("en")} of ${count(listing.n, label, plural)}`,
    column ? [", by ", isolated(column.label)] : listing.ordered ? `, ${listing.ordered}` : "", about ? ". " : " ",
    about,
    chips(app),
    rows.length < listing.n || column ? button("Reset", app.reset, { class: "quiet" }) : null,
    copyButton("Copy ids", () => rows.map((row) => listing.ids[row]).join("\n")));
}

// The filters of the list, each with a button that removes it.
function chips({ listing, query, set }) {
  const chip = (name, ...text) => (query.has(name) ? el("span", { class: "chip" }, text,
    button("×", () => set({ [name]: null }), { class: "quiet", "aria-label": `Remove ${text[0]}` })) : null);
  return listing.filters.map(({ name, label, kind, choices }) => (kind === "range"
    ? Object.entries(RANGE).map(([end, sign]) => chip(`${end}.${name}`, `${label} ${sign} ${query.get(`${end}.${name}`)}`))
    : chip(name, `${label}: `, isolated(choices?.find(({ value }) => value === query.get(name))?.label ?? query.get(name)))));
}

function table(rows, app) {
  const { listing, query } = app;
  if (!rows.length) return el("p", { class: "empty" }, `No ${listing.noun.label} matches.`);
  const chosen = chosenColumns(listing);
  const columns = listing.columns.filter((column) => isShown(column, chosen));
  const words = listing.snippet && query.get("q")?.trim() ? query.get("q").trim().toLowerCase().split(/\s+/) : null;
  return grid("studies", `${listing.noun.plural}; a heading sorts by its column`,
    [columns.map((column) => heading(column, app)), words ? el("th", { scope: "col" }, "match") : null],
    rows.map((row) => line(row, columns, words, app)));
}

function heading(column, { query, set }) {
  const isSorted = query.get("sort") === column.name;
  const isDescending = query.get("descending") === "true";
  const sort = () => set({ sort: column.name, descending: String(isSorted ? !isDescending : ["count", "number"].includes(column.kind)) });
  // Wide enough for a label on two lines, without a break in a word.
  const longest = Math.max(column.label.length / 2, ...column.label.split(" ").map((word) => word.length));
  const style = { "min-width": `${Math.min(16, Math.ceil(longest) + 2)}ch` };
  return sortHeading(column.name, isolated(column.label), isSorted, isDescending, sort, { class: column.kind, style });
}

// A heading that sorts by its column.
export function sortHeading(name, label, isSorted, isDescending, sort, properties = {}) {
  return el("th", { scope: "col", ...properties, "aria-sort": isSorted ? (isDescending ? "descending" : "ascending") : null },
    button([label, el("span", { "aria-hidden": "true" }, isSorted ? (isDescending ? " ▾" : " ▴") : "")],
      sort, { class: "sort", "data-sort": name }));
}

function line(row, columns, words, app) {
  const { listing } = app;
  const id = listing.ids[row];
  const address = app.addressOf(id);
  const follow = (event) => { if (!event.target.closest("a")) location.hash = address; };
  return el("tr", { class: row === app.lastOpened ? "current" : null, on: { click: follow } },
    columns.map((column) => {
      if (column.kind === "id") {
        return el("th", { scope: "row", title: id }, el("a", { href: address, "data-row": String(row) }, isolated(id)), column.draw?.(row));
      }
      const value = column.value(row) ?? null;
      const cell = el("td", { class: value === 0 && column.kind !== "score" ? `${column.kind} zero` : column.kind },
        column.draw ? column.draw(row) : value === null ? "" : isolated(value));
      // The title has the text that the cell's width cuts off.
      if (cell.textContent.length > BRIEF) cell.title = cell.textContent;
      return cell;
    }),
    words ? el("td", { class: "snippet" }, snippet(listing.snippet(row), words)) : null);
}

// The first place of a word of the search, with the text around it.
function snippet(text, words) {
  const lower = text.toLowerCase();
  const word = words.find((each) => lower.includes(each));
  if (word === undefined) return [];
  const at = lower.indexOf(word);
  const [start, end] = [Math.max(0, at - AROUND), at + word.length];
  return [isolated(`${start ? "… " : ""}${text.slice(start, at)}`), el("b", {}, isolated(text.slice(at, end))),
    isolated(text.slice(end, end + AROUND))];
}

function pager(offset, app) {
  const n = app.rows.length;
  if (n <= LIMIT) return "";
  const turn = (to) => app.set({ offset: to || null }).then(() => find("#studies-title").scrollIntoView());
  const step = (text, to, possible) => button(text, () => turn(to), { "data-step": text, disabled: !possible });
  const end = Math.min(offset + LIMIT, n);
  return el("nav", { class: "pager", "aria-label": "Pages of the list" },
    step("First", 0, offset > 0), step("Previous", Math.max(0, offset - LIMIT), offset > 0),
    el("span", { class: "small" }, `${(offset + 1).toLocaleString("en")} to ${end.toLocaleString("en")} of ${n.toLocaleString("en")}`),
    step("Next", offset + LIMIT, end < n), step("Last", Math.floor((n - 1) / LIMIT) * LIMIT, end < n));
}
