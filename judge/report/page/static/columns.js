// Which columns the list of studies shows: the reader's choice, kept by the browser.

import { el, said } from "./dom.js";
import { remember, remembered } from "./keys.js";

const GROUPS = [
  ["About the study", ({ kind }) => ["class", "codes", "outcome"].includes(kind)],
  ["Measures", ({ kind }) => kind === "score" || kind === "count"],
  ["Fields", ({ kind }) => kind === "field"],
];

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

  keep() {
    remember(this.key, this.chosen.toString());
    this.changed();
  }

  control() {
    const boxes = new Map();
    const box = (column) => {
      const choose = ({ target }) => {
        this.chosen.set(column.name, target.checked ? "yes" : "no");
        this.keep();
      };
      boxes.set(column, el("input", { type: "checkbox", checked: this.isShown(column), "data-column": column.name, on: { change: choose } }));
      return el("label", {}, boxes.get(column), said(column.label));
    };
    const restore = () => {
      this.chosen = new URLSearchParams();
      boxes.forEach((own, column) => { own.checked = this.isShown(column); });
      this.keep();
    };
    const group = (name, isOf) => {
      const own = this.all.filter(isOf);
      return own.length ? el("fieldset", { class: "boxes" }, el("legend", {}, name), own.map(box)) : null;
    };
    const further = group("Further measures", ({ kind }) => kind === "other");
    return el("details", { id: "columns" },
      el("summary", {}, "Columns"),
      GROUPS.map(([name, isOf]) => group(name, isOf)),
      further ? el("details", {}, el("summary", {}, "Further measures"), further) : null,
      el("button", { type: "button", class: "quiet", on: { click: restore } }, "Usual columns"));
  }
}
