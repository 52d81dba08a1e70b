// The list of studies, a page at a time, and the form that narrows it.

import { announce, control, el, grid, newest, option, pager, said } from "./dom.js";
import { capital, count, number, shown } from "./words.js";

const LIMIT = 50;
const WAIT = 120;
const BRIEF = 20;

export function studiesSection(form, columns) {
  return el("section", { id: "studies", "aria-labelledby": "studies-title" },
    el("h2", { id: "studies-title", tabindex: "-1" }, "Studies"),
    form,
    columns.control(),
    el("div", { id: "list" }));
}

export async function drawList(app) {
  const page = await newest(app, "drawing", app.store.page(app.query, LIMIT));
  if (!page) return;
  const list = document.getElementById("list");
  const { sort, step } = document.activeElement?.dataset ?? {};
  const pages = { offset: page.offset, n: page.matching, limit: LIMIT };
  list.replaceChildren(summary(page, app), studiesTable(page, app), pager(pages, (to) => turnPage(to, app)));
  if (sort) list.querySelector(`[data-sort="${CSS.escape(sort)}"]`)?.focus();
  if (step) list.querySelector(`[data-step="${step}"]:enabled`)?.focus();
  announce(`${count(page.matching, "study", "studies")} of ${page.total} match`);
}

function summary(page, app) {
  const by = app.view.columns.find(({ name }) => name === app.query.get("sort"));
  const narrowed = [...app.query.keys()].some((key) => !["sort", "descending", "offset"].includes(key));
  return el("p", { class: "count" },
    page.matching === page.total
      ? `${count(page.total, "study", "studies")}`
      : `${page.matching.toLocaleString("en")} of ${count(page.total, "study", "studies")}`,
    by ? [", by ", said(by.label)] : app.query.has("sort") ? "" : ", worst first",
    narrowed || app.query.has("sort")
      ? el("button", { type: "button", class: "quiet", on: { click: app.reset } }, "Reset")
      : null);
}

function studiesTable(page, app) {
  if (!page.studies.length) return el("p", { class: "empty" }, "No study matches.");
  const columns = app.columns.shown;
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "List of studies" },
    grid("studies one-line", "Studies; a heading sorts by its column",
      columns.map((column) => heading(column, app)), page.studies.map((study) => line(study, columns, app))));
}

function heading(column, app) {
  const sorted = app.query.get("sort") === column.name;
  const descending = app.query.get("descending") === "true";
  const direction = descending ? "descending" : "ascending";
  const sort = () => {
    app.query.set("sort", column.name);
    app.query.set("descending", String(sorted ? !descending : column.kind === "count"));
    app.query.delete("offset");
    app.changed();
  };
  // Wide enough for a label on two lines.
  const style = { "min-width": `${Math.min(16, Math.ceil(column.label.length / 2) + 2)}ch` };
  return el("th", { scope: "col", class: column.kind, style, "aria-sort": sorted ? direction : null },
    el("button", { type: "button", class: "sort", "data-sort": column.name, on: { click: sort } },
      said(column.label), el("span", { "aria-hidden": "true" }, sorted ? (descending ? " ▾" : " ▴") : "")));
}

function line(study, columns, app) {
  const address = app.addressOf(study.id);
  return el("tr", { on: { click: (event) => { if (!event.target.closest("a")) location.hash = address; } } },
    columns.map((column) => {
      if (column.kind === "id") {
        return el("th", { scope: "row", title: study.id }, el("a", { href: address }, said(study.id)),
          study.reviews ? el("span", { class: "reviewed", title: "reviewed" }, " ✓",
            el("span", { class: "unseen" }, "reviewed")) : null);
      }
      const cell = el("td", { class: column.kind }, content(column, study, app));
      // What the cell's width cuts off.
      if (cell.textContent.length > BRIEF) cell.title = cell.textContent;
      return cell;
    }));
}

function content(column, study, app) {
  const value = study.value(column.name);
  switch (column.kind) {
    case "score":
      return app.labels.score(column.name, value);
    case "count":
      if (!value) return value === 0 ? "0" : "";
      return el("span", { class: column.tone ? `pill tone-${column.tone}` : "pill" }, String(value));
    case "codes":
      return el("span", {}, codesOf(value, app.labels.codes).flatMap(({ name, text }, at) =>
        [at && name.length > 1 ? ", " : "", el("abbr", { title: text }, name)]));
    case "other":
      return value === null ? "" : number(value, column.whole ? 0 : 3);
    case "outcome":
      return value === "annotated" ? value : el("strong", {}, said([value, study.value("reason")].filter(Boolean).join(": ")));
    case "class":
      return said(shown(value));
    default:
      return value === null || value === undefined ? "" : said(value);
  }
}

// Codes of one letter stand without a space: `abd`.
function codesOf(value, facet) {
  const isShort = facet.labels.every(({ name }) => name.length === 1);
  const names = isShort ? [...value] : value.split(", ").filter(Boolean);
  return names.map((name) => facet.labelOf.get(name));
}

function turnPage(to, app) {
  if (to) app.query.set("offset", String(to)); else app.query.delete("offset");
  app.changed();
  document.getElementById("studies-title").scrollIntoView();
}

const itself = (value) => ({ value, label: value });

// The form's state is the query itself.
export function filterForm({ view, canReview }, labels, query, changed) {
  const { filters } = view;
  let timer = null;
  const set = (name, value, wait = 0) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (value === null) query.delete(name); else query.set(name, value);
      query.delete("offset");
      changed();
    }, wait);
  };
  const id = (name) => `filter-${name.replace(/[^A-Za-z0-9_-]/g, (sign) => `_${sign.codePointAt(0)}`)}`;
  const labelled = (name, text, field) => control(id(name), said(text), field);
  const choice = (name, text, choices) => labelled(name, text, el("select", {
    on: { change: (event) => set(name, choices[event.target.selectedIndex - 1]?.value ?? null) },
  }, option("", "all"), choices.map(({ value, label }, at) =>
    el("option", { selected: query.get(name) === value, value: String(at) }, label))));
  const typed = (name, text, type, more = {}) => labelled(name, text, el("input", {
    type, autocomplete: "off", value: query.get(name) ?? "", ...more,
    on: { input: (event) => set(name, event.target.value || null, WAIT) },
  }));

  const classFilter = () => {
    if (!filters.classes) return typed("has.study_class", "Class contains", "search");
    const classes = filters.classes.map(itself);
    if (filters.no_class) classes.push({ value: "", label: "(none)" });
    return choice("class", "Class", classes);
  };
  const score = ({ name, label }) => {
    const ends = filters.scores[name];
    if (!ends) return null;
    const range = { step: "any", inputmode: "decimal" };
    return el("fieldset", { class: "range" }, el("legend", {}, label),
      typed(`min.${name}`, "from", "number", { ...range, placeholder: String(Math.round(ends.low * 1000) / 1000) }),
      typed(`max.${name}`, "to", "number", { ...range, placeholder: String(Math.round(ends.high * 1000) / 1000) }));
  };
  const field = ({ name, values }) => (values
    ? choice(`field.${name}`, name, values.map(itself))
    : typed(`has.${name}`, `${name} contains`, "search"));

  const submit = (event) => event.preventDefault();
  return el("form", { class: "filters", role: "search", "aria-label": "Studies", on: { submit } },
  el("div", { class: "controls" },
    typed("q", "Search in ids, reports, errors", "search", { class: "wide", "aria-keyshortcuts": "/" }),
    classFilter(),
    ...filters.labels.map((name) => choice(name, capital(labels.facet(name).label),
      labels.facet(name).labels.map(({ name: value, text }) => ({ value, label: text })))),
    choice("outcome", "Outcome", filters.outcomes.map((value) => ({ value, label: capital(value) }))),
    canReview ? choice("reviewed", "Reviewed", [itself("yes"), { value: "no", label: "not yet" }]) : null,
    ...filters.fields.filter((one) => one.values && one.values.length > 1 && one.values.length <= 12).map(field)),
  el("details", { class: "more", open: [...query.keys()].some((key) => /^(min|max|has)\./.test(key)) },
    el("summary", {}, "By score and further fields"),
    el("div", { class: "controls" }, ...labels.scores.map(score),
      ...filters.fields.filter((one) => !one.values || one.values.length > 12).map(field))));
}
