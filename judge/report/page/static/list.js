// The list of studies, a page at a time.

import { announce, el, said } from "./dom.js";
import { count, shown } from "./words.js";

const LIMIT = 50;
const FIELDS = 3;

export function studiesSection(view, labels, query, form) {
  return el("section", { id: "studies", "aria-labelledby": "studies-title" },
    el("h2", { id: "studies-title", tabindex: "-1" }, "Studies"),
    form,
    el("div", { id: "list" }));
}

export async function drawList(app) {
  const { source, query } = app;
  const asked = new URLSearchParams(query);
  asked.set("limit", String(LIMIT));
  const drawing = Symbol("drawing");
  app.drawing = drawing;
  const page = await source.studies(asked);
  // A slower answer to an older question must not replace a newer one.
  if (app.drawing !== drawing) return;
  const list = document.getElementById("list");
  const focused = document.activeElement?.dataset?.sort;
  list.replaceChildren(summary(page, app), studiesTable(page, app), pager(page, app));
  if (focused) list.querySelector(`[data-sort="${CSS.escape(focused)}"]`)?.focus();
  announce(`${count(page.matching, "study", "studies")} of ${page.total} match`);
}

function summary(page, app) {
  const narrowed = [...app.query.keys()].some((key) => !["sort", "descending", "offset"].includes(key));
  return el("p", { class: "count" },
    page.matching === page.total
      ? `${count(page.total, "study", "studies")}`
      : `${page.matching.toLocaleString("en")} of ${count(page.total, "study", "studies")}`,
    app.query.has("sort") ? "" : ", worst first",
    narrowed || app.query.has("sort")
      ? el("button", { type: "button", class: "quiet", on: { click: app.reset } }, "Reset")
      : null);
}

function columnsOf(app) {
  const fields = app.view.columns.filter((column) => column.kind === "field").slice(0, FIELDS);
  const onlyOutcome = app.view.filters.outcomes.length === 1;
  return app.view.columns.filter(({ kind, name }) =>
    (kind !== "field" || fields.some((field) => field.name === name)) && !(kind === "outcome" && onlyOutcome));
}

function studiesTable(page, app) {
  if (!page.rows.length) return el("p", { class: "empty" }, "No study matches.");
  const columns = columnsOf(app);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "List of studies" },
    el("table", { class: "studies" },
      el("caption", { class: "unseen" }, "Studies; a heading sorts by its column"),
      el("thead", {}, el("tr", {}, columns.map((column) => heading(column, app)))),
      el("tbody", {}, page.rows.map((row) => line(row, columns, app)))));
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
  return el("th", { scope: "col", class: column.kind, "aria-sort": sorted ? direction : null },
    el("button", { type: "button", class: "sort", "data-sort": column.name, on: { click: sort } },
      said(column.label), el("span", { "aria-hidden": "true" }, sorted ? (descending ? " ▾" : " ▴") : "")));
}

function line(row, columns, app) {
  const address = app.addressOf(row.study_id);
  return el("tr", { on: { click: (event) => { if (!event.target.closest("a")) app.go(address); } } },
    columns.map((column) => {
      const value = row[column.name];
      if (column.kind === "id") {
        return el("th", { scope: "row" }, el("a", { href: address }, said(value)),
          row.n_reviews ? el("span", { class: "reviewed", title: "reviewed" }, " ✓",
            el("span", { class: "unseen" }, "reviewed")) : null);
      }
      return el("td", { class: column.kind }, content(column, value, row, app));
    }));
}

function content(column, value, row, app) {
  switch (column.kind) {
    case "score":
      return app.labels.score(column.name, value);
    case "count":
      if (!value) return value === 0 ? "0" : "";
      return el("span", { class: `pill tone-${app.labels.level(column.name.slice(2)).tone}` }, String(value));
    case "categories":
      return el("span", {}, [...value].map((letter) =>
        el("abbr", { title: app.labels.category(letter) }, letter)));
    case "outcome":
      return value === "annotated" ? value : el("strong", {}, said([value, row.reason].filter(Boolean).join(": ")));
    case "class":
      return said(shown(value));
    default:
      return value === null || value === undefined ? "" : said(String(value).slice(0, 120));
  }
}

function pager(page, app) {
  if (page.matching <= LIMIT) return "";
  const to = (offset) => () => {
    if (offset) app.query.set("offset", String(offset)); else app.query.delete("offset");
    app.changed();
    document.getElementById("studies-title").scrollIntoView();
  };
  const button = (text, offset, possible) =>
    el("button", { type: "button", disabled: !possible, on: { click: to(offset) } }, text);
  const last = Math.min(page.offset + LIMIT, page.matching);
  const end = Math.floor((page.matching - 1) / LIMIT) * LIMIT;
  return el("nav", { class: "pager", "aria-label": "Pages of the list" },
    button("First", 0, page.offset > 0),
    button("Back", Math.max(0, page.offset - LIMIT), page.offset > 0),
    el("span", {}, `${page.offset + 1} to ${last} of ${page.matching.toLocaleString("en")}`),
    button("On", page.offset + LIMIT, last < page.matching),
    button("Last", end, last < page.matching));
}
