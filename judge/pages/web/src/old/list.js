// The list of a view: its rows filtered, sorted and paged over columns in memory, with the form
// that filters it. A query is the part of the address after the #.

import { announce, button, control, el, find, grid, isolated, option, redraw } from "./dom.js";
import { count } from "./format.js";

const LIMIT = 50;
const WAIT_MS = 120;

// `ids` are those of the rows and `order` is the rank of each, where no other is asked for. A
// column has a `name`, a `label`, a `kind`, its `value(row)` and perhaps `draw(row)`.
// `search(text)` gives the matching rows, a Set. A filter has a `name`, a `label`, its `choices` or the
// `type` of its field, perhaps `more`, which folds it away, and `test(wanted, query)`, a test of a row.
export class Listing {
  noun = { label: "study", plural: "studies" };
  ids; columns; filters; order; ordered; about; search;

  constructor(/** @type {any} */ parts) {
    Object.assign(this, parts);
    this.rowOf = new Map(this.ids.map((id, row) => [id, row]));
  }

  sorting(query) {
    return this.columns.find(({ name }) => name === query.get("sort"));
  }

  // The rows that match, in order.
  async rows(query) {
    const tests = this.filters.filter(({ name }) => query.has(name)).map(({ name, test }) => test(query.get(name), query));
    const text = query.get("q")?.trim();
    const hits = text && this.search ? await this.search(text) : null;
    const rows = [...this.ids.keys()].filter((row) => (!hits || hits.has(row)) && tests.every((test) => test(row)));
    const column = this.sorting(query);
    if (column) return rows.sort(comparison(column.value, query.get("descending") === "true"));
    return this.order ? rows.sort((a, b) => this.order[a] - this.order[b]) : rows;
  }
}

// An order by a value, of which a missing one comes last either way.
function comparison(valueOf, isDescending) {
  const sign = isDescending ? -1 : 1;
  return (a, b) => {
    const [left, right] = [valueOf(a) ?? null, valueOf(b) ?? null];
    if (left === null || right === null) return Number(left === null) - Number(right === null) || a - b;
    return left < right ? -sign : left > right ? sign : a - b;
  };
}

// A filter by one of few values, each a text or an object with `value` and `label`.
export function choiceFilter(name, label, values, read, more = false) {
  const choices = values.map((value) => (typeof value === "object" ? value : { value, label: value }));
  return { name, label, choices, more, test: (wanted) => (row) => [read(row)].flat().includes(wanted) };
}

// A filter by a part of a text.
export function textFilter(name, label, read, more = false) {
  const test = (wanted) => (row) => String(read(row) ?? "").toLowerCase().includes(wanted.toLowerCase());
  return { name, label: `${label} contains`, type: "search", more, test };
}

// The filters by the least and by the largest value.
export function rangeFilters(name, label, read) {
  const filter = (end, word, fits) => ({
    name: `${end}.${name}`, label: `${label} ${word}`, type: "number", more: true,
    test: (wanted) => (row) => read(row) !== null && fits(read(row), Number(wanted)),
  });
  return [filter("min", "at least", (value, bound) => value >= bound), filter("max", "at most", (value, bound) => value <= bound)];
}

// The rank of each row by its value, the greatest first.
export function orderBy(values, weigh) {
  const order = new Int32Array(values.length);
  const sorted = [...values.keys()].sort((a, b) => weigh(values[b]) - weigh(values[a]) || a - b);
  sorted.forEach((row, rank) => { order[row] = rank; });
  return order;
}

// The form of a listing, and the function that shows a query in it; `app.set` is given the changes
// of the query.
export function filterForm({ filters, search, noun }, app) {
  const fields = [];
  const id = (name) => `filter-${name.replace(/[^A-Za-z0-9_-]/g, (sign) => `_${sign.codePointAt(0)}`)}`;
  const drawn = (/** @type {any} */ { name, label, choices, type }) => {
    let timer = null;
    const change = ({ target }) => {
      const wanted = choices ? choices[target.value]?.value ?? null : target.value || null;
      clearTimeout(timer);
      timer = setTimeout(() => app.set({ [name]: wanted }), choices ? 0 : WAIT_MS);
    };
    const field = choices
      ? el("select", { on: { change } }, option("", "all"), choices.map((choice, at) => option(String(at), choice.label)))
      : el("input", { autocomplete: "off", type, step: type === "number" ? "any" : null, on: { input: change } });
    fields.push({ name, choices, field });
    return control(id(name), isolated(label), field);
  };
  const show = (query) => {
    for (const { name, choices, field } of fields) {
      const wanted = query.get(name);
      if (choices) field.value = wanted === null ? "" : String(choices.findIndex(({ value }) => value === wanted));
      else if (field !== document.activeElement) field.value = wanted ?? "";
    }
  };
  const further = filters.filter(({ more }) => more);
  const form = el("form", { class: "filters", role: "search", "aria-label": noun.plural, on: { submit: (event) => event.preventDefault() } },
    el("div", { class: "controls" }, search ? drawn({ name: "q", label: "Search in ids, reports, errors", type: "search" }) : null,
      filters.filter(({ more }) => !more).map(drawn)),
    further.length ? el("details", { open: further.some(({ name }) => app.query.has(name)) },
      el("summary", {}, "By score and further fields"), el("div", { class: "controls" }, further.map(drawn))) : null);
  return { form, show };
}

export function drawList(app) {
  const { listing, query, rows } = app;
  const offset = Math.min(Number(query.get("offset")) || 0, Math.max(0, rows.length - 1));
  redraw(app.list, summary(app), table(rows.slice(offset, offset + LIMIT), app), pager(offset, app));
  announce(`${count(rows.length, listing.noun.label, listing.noun.plural)} of ${listing.ids.length} match`);
}

function summary(app) {
  const { listing, query, rows } = app;
  const { ids, noun: { label, plural }, ordered, about } = listing;
  const column = listing.sorting(query);
  return el("div", { class: "count" },
    rows.length === ids.length ? count(ids.length, label, plural) : `${rows.length.toLocaleString("en")} of ${count(ids.length, label, plural)}`,
    column ? [", by ", isolated(column.label)] : ordered ? `, ${ordered}` : "", about ? `. ${about(rows)}` : " ",
    rows.length < ids.length || column ? button("Reset", () => app.reset(), { class: "quiet" }) : null);
}

function table(rows, app) {
  const { noun, columns } = app.listing;
  if (!rows.length) return el("p", { class: "empty" }, `No ${noun.label} matches.`);
  return grid("studies", `${noun.plural}; a heading sorts by its column`,
    columns.map((column) => heading(column, app)), rows.map((row) => line(row, app)));
}

function heading({ name, label, kind }, app) {
  const { query } = app;
  const isSorted = query.get("sort") === name;
  const isDescending = query.get("descending") === "true";
  const sort = () => app.set({ sort: name, descending: String(isSorted ? !isDescending : ["count", "number"].includes(kind)) });
  return el("th", { scope: "col", class: kind, "aria-sort": isSorted ? (isDescending ? "descending" : "ascending") : null },
    button([isolated(label), el("span", { "aria-hidden": "true" }, isSorted ? (isDescending ? " ▾" : " ▴") : "")],
      sort, { class: "sort", "data-act": `sort ${name}` }));
}

function line(row, app) {
  const id = app.listing.ids[row];
  return el("tr", { class: row === app.lastOpened ? "current" : null }, app.listing.columns.map(({ kind, value, draw }) => {
    const shown = draw ? draw(row) : value(row) === null ? "" : isolated(value(row));
    if (kind === "id") return el("th", { scope: "row" }, el("a", { href: app.addressOf(id), "data-act": `row ${row}` }, isolated(id)), draw ? shown : null);
    const cell = el("td", { class: kind }, shown);
    cell.title = cell.textContent;  // of which the cell's width may show a part
    return cell;
  }));
}

function pager(offset, app) {
  const n = app.rows.length;
  if (n <= LIMIT) return null;
  const turn = (to) => app.set({ offset: to || null }).then(() => find("#studies-title").scrollIntoView());
  const step = (text, to, possible) => button(text, () => turn(to), { "data-act": text, disabled: !possible });
  const end = Math.min(offset + LIMIT, n);
  return el("nav", { class: "pager", "aria-label": "Pages of the list" },
    step("Previous", Math.max(0, offset - LIMIT), offset > 0),
    el("span", { class: "small" }, `${(offset + 1).toLocaleString("en")} to ${end.toLocaleString("en")} of ${n.toLocaleString("en")}`),
    step("Next", offset + LIMIT, end < n));
}
