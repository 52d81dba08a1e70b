// The list of pairs, and what it is narrowed by: the change, what came of it, the study.

import { announce, control, el, grid, option, pager, said } from "./dom.js";
import { sideways } from "./parts.js";
import { count, NOTHING } from "./words.js";

const LIMIT = 25;

export function listSection(app) {
  const choose = (name, label) => control(name, label, el("select", {
    on: { change: ({ target }) => app.set({ [name]: target.value }) },
  }));
  return el("section", { id: "pairs", "aria-labelledby": "pairs-title" },
    el("h2", { id: "pairs-title", tabindex: "-1" }, "Pairs"),
    el("form", { class: "filters", role: "search", "aria-label": "Pairs", on: { submit: (event) => event.preventDefault() } },
      el("div", { class: "controls" },
        choose("group", "Group"), choose("change", "Change"), choose("came", "What came of it"),
        control("search", "Study id contains", el("input", {
          type: "search", autocomplete: "off", "aria-keyshortcuts": "/", on: { input: ({ target }) => app.set({ search: target.value }) },
        })))),
    el("div", { id: "list" }));
}

// What each control keeps of the pairs, by its name.
function narrowing({ state, store: { columns } }) {
  const wanted = state.search.toLowerCase();
  return {
    group: (row) => !state.group || columns.changes[columns.change[row]].group === state.group,
    change: (row) => !state.change || columns.changes[columns.change[row]].name === state.change,
    came: (row) => state.came === "" || columns.came[row].includes(Number(state.came)),
    search: (row) => !wanted || columns.studies[columns.study[row]].toLowerCase().includes(wanted),
  };
}

export function drawList(app) {
  const { state, store: { columns, overview } } = app;
  const keeps = narrowing(app);
  const rows = columns.ids.map((_, row) => row);
  const kept = (...names) => rows.filter((row) => names.every((name) => keeps[name](row)));
  const choices = (name, values, of, labels = values) => {
    const among = kept(...Object.keys(keeps).filter((one) => one !== name));
    const n = new Map();
    for (const row of among) for (const value of of(row)) n.set(value, (n.get(value) ?? 0) + 1);
    const shown = (value, at) => (n.has(value) || state[name] === value
      ? option(value, `${labels[at]} (${(n.get(value) ?? 0).toLocaleString("en")})`, state[name]) : null);
    document.getElementById(name).replaceChildren(...[
      option("", `all (${among.length.toLocaleString("en")})`, state[name]), ...values.map(shown)].filter(Boolean));
  };
  const changeOf = (row) => columns.changes[columns.change[row]];
  choices("group", [...new Set(columns.changes.map(({ group }) => group))], (row) => [changeOf(row).group]);
  choices("change", columns.changes.map(({ name }) => name), (row) => [changeOf(row).name]);
  choices("came", overview.came.map((_, at) => String(at)), (row) => columns.came[row].map(String), overview.came);
  app.listed = kept(...Object.keys(keeps));
  const focused = document.activeElement?.dataset?.step;
  const list = document.getElementById("list");
  list.replaceChildren(
    el("p", { class: "count" }, app.listed.length === rows.length ? `${count(rows.length, "pair")}. `
      : `${app.listed.length.toLocaleString("en")} of ${count(rows.length, "pair")}. `,
    app.listed.length < rows.length ? el("button", { type: "button", class: "quiet", on: { click: app.reset } }, "Show all pairs") : null),
    table(app.listed.slice(state.offset, state.offset + LIMIT), app),
    pager({ offset: state.offset, n: app.listed.length, limit: LIMIT }, (offset) => app.set({ offset })));
  if (focused) list.querySelector(`[data-step="${focused}"]:enabled`)?.focus();
  announce(count(app.listed.length, "pair"));
}

// The first pair of the page of the list that a row is on.
export function offsetOf(at) {
  return at - (at % LIMIT);
}

function table(rows, app) {
  const { columns, overview } = app.store;
  if (!rows.length) return el("p", { class: "empty" }, "No pair matches.");
  const head = (text, kind) => el("th", { scope: "col", class: kind }, text);
  return el("div", {}, ...sideways("List of pairs", grid("studies one-line", "Pairs", [
    head("Pair"), head("Group"), head("What came of it"), head("Errors put in", "numbers"), head("Errors found", "numbers"),
  ], rows.map((row) => el("tr", { class: row === app.state.row ? "current" : null },
    el("th", { scope: "row", title: columns.ids[row] },
      el("a", { href: app.addressOf(columns.ids[row]), "data-row": String(row) }, said(columns.ids[row]))),
    el("td", {}, columns.changes[columns.change[row]].group),
    el("td", {}, said(columns.came[row].map((at) => overview.came[at]).join("; "))),
    el("td", { class: "numbers" }, String(columns.k[row])),
    el("td", { class: "numbers" }, String(columns.n_errors[row] ?? NOTHING)))))));
}
