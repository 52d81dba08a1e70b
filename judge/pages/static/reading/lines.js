// The candidate as numbered lines that a reader corrects: changes, deletes, puts in.

import { button, el, goTo, isolated } from "./dom.js";
import { differences } from "./format.js";

export function markCurrent(elements, current) {
  elements.forEach((element, at) => {
    if (at === current) element.setAttribute("aria-current", "true");
    else element.removeAttribute("aria-current");
  });
}

export class Lines {
  lines; act;
  at = 0;
  items = [];

  // `act` has `moved()`, `begin(kind)` and `edit(kind, line, corrected)`.
  constructor({ lines }, act) {
    Object.assign(this, { lines, act });
    this.box = el("ol", {
      class: "edit-rows", "aria-labelledby": "candidate-title", "aria-describedby": "words-hint",
      on: {
        keydown: (event) => this.#pressed(event),
        focusin: (event) => this.#entered(event),
        click: (event) => this.#entered(event),
      },
    });
  }

  draw(items) {
    const hadFocus = this.box.contains(document.activeElement);
    this.items = items;
    const numbers = [...this.lines.keys(), this.lines.length];
    this.box.replaceChildren(...numbers.flatMap((line) => [...this.#inserted(line), this.#row(line)]));
    if (hadFocus) this.focus();
  }

  // What is put in before a line; the end of the report has no number.
  #inserted(line) {
    return this.items.filter(({ edit }) => edit?.kind === "insert" && (edit.line ?? this.lines.length) === line)
      .map(({ edit }) => el("li", { class: "edit-row insert" },
        el("span", { class: "line-number" }, "+"),
        el("ins", { class: "line-text", dir: "auto" }, edit.corrected)));
  }

  #row(line) {
    const text = this.lines[line]?.text;
    const edit = this.editOf(line);
    return el("li", {
      class: `edit-row ${edit?.kind ?? ""}`, "data-line": line,
      tabindex: line === this.at ? "0" : "-1", "aria-current": line === this.at ? "true" : null,
    },
    el("span", { class: "line-number" }, el("span", { class: "unseen" }, "line "), text === undefined ? "" : String(line)),
    el("span", { class: "line-text", dir: "auto" },
      text === undefined ? el("em", { class: "small" }, "end") : edit ? differences(text, edit.corrected) : isolated(text)));
  }

  editOf(line) {
    return this.items.find(({ edit }) => edit && edit.kind !== "insert" && edit.line === line)?.edit ?? null;
  }

  #entered(event) {
    const row = event.target.closest("[data-line]");
    if (row && !event.target.closest("textarea, button")) this.#go(Number(row.dataset.line), event.type === "click");
  }

  #go(line, focus = true) {
    this.at = Math.min(this.lines.length, Math.max(0, line));
    const rows = this.box.querySelectorAll("[data-line]");
    markCurrent(rows, this.at);
    rows.forEach((row, line) => { row.tabIndex = line === this.at ? 0 : -1; });
    if (focus) this.focus();
    this.act.moved();
  }

  focus() {
    const row = this.box.querySelector('[aria-current="true"]');
    if (document.activeElement !== row) goTo(row, "nearest");
  }

  #pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("textarea, button")) return;
    const acts = {
      ArrowDown: () => this.#go(this.at + 1), ArrowUp: () => this.#go(this.at - 1),
      Home: () => this.#go(0), End: () => this.#go(this.lines.length),
      Enter: () => this.act.begin("change"), Insert: () => this.act.begin("insert"),
      Delete: () => this.act.begin("delete"), Backspace: () => this.act.begin("delete"),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  }

  // Asks for the text of a line that is changed or put in, below the line or before it.
  write(kind, text) {
    const label = kind === "insert" ? "The new line" : "The line, corrected";
    const field = el("textarea", { rows: "2", maxlength: "20000", "aria-label": label, value: text });
    const end = (isApplied) => {
      row.remove();
      this.focus();
      const corrected = field.value.trim().replace(/\s+/g, " ");
      if (isApplied && corrected) this.act.edit(kind, this.at, corrected);
    };
    field.addEventListener("keydown", (event) => {
      if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      end(event.key === "Enter");
    });
    const row = el("li", { class: "edit-row writing" }, el("span", {}),
      el("span", {}, field, el("span", { class: "tools" },
        button("Apply (Enter)", () => end(true), { class: "main" }), button("Cancel (Esc)", () => end(false)))));
    this.box.querySelector(".writing")?.remove();
    const line = this.box.querySelector('[aria-current="true"]');
    if (kind === "insert") line.before(row);
    else line.after(row);
    field.focus();
    field.select();
  }
}
