// Which columns the list of studies shows: the reader's choice, kept by the browser.

import { el, said } from "./dom.js";
import { remember, remembered } from "./keys.js";

export class Columns {
  // What a reader chose holds for all runs of a rubric; of other columns the run says itself
  // whether they are shown.
  constructor({ columns, rubric }, changed) {
    this.all = columns;
    this.key = `judge.columns.${rubric.name}`;
    this.chosen = new URLSearchParams(remembered(this.key) ?? "");
    this.changed = changed;
  }

  get shown() {
    return this.all.filter((column) => this.isShown(column));
  }

  isShown({ name, kind, shown }) {
    if (kind === "id") return true;
    return this.chosen.has(name) ? this.chosen.get(name) === "yes" : shown;
  }

  control() {
    const box = (column) => el("label", {}, el("input", {
      type: "checkbox",
      checked: this.isShown(column),
      "data-column": column.name,
      on: {
        change: ({ target }) => {
          this.chosen.set(column.name, target.checked ? "yes" : "no");
          remember(this.key, this.chosen.toString());
          this.changed();
        },
      },
    }), said(column.label));
    return el("details", { id: "columns" },
      el("summary", {}, "Columns"),
      el("div", { class: "boxes" }, this.all.filter(({ kind }) => kind !== "id").map(box)));
  }
}
