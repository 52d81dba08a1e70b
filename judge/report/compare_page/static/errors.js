// What each model gets wrong in the group that the leaderboard shows.

import { el, grid, said } from "./dom.js";
import { sideways } from "./parts.js";

const N_LEFT = 2;

export function errorsSection({ overview }) {
  if (!overview.groups[0].errors.length) return null;
  return el("section", { id: "errors", "aria-labelledby": "errors-title" },
    el("h2", { id: "errors-title" }, "What each model gets wrong"),
    el("div", { id: "errors-tables" }));
}

export function drawErrors({ group }) {
  const tables = group.errors.flatMap(({ title, head, rows }) => [
    el("p", { class: "title" }, said(title)),
    ...sideways(title, grid("studies", title,
      head.map((text, at) => el("th", { scope: "col", class: at < N_LEFT ? null : "numbers" }, said(text))),
      rows.map((row) => el("tr", {}, row.map((text, at) => (at < N_LEFT
        ? el("th", { scope: "row" }, said(text)) : el("td", { class: "numbers" }, text))))))),
  ]);
  document.getElementById("errors-tables")?.replaceChildren(...tables,
    el("p", { class: "small" }, tables.length ? "Errors per study, of the studies that were scored for the model. An error of several "
      + "categories is in each of them, and once in the last column." : "No study was scored here."));
}
