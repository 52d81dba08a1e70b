// The candidate as numbered lines that a reader corrects: changes, deletes, puts in.

import { el, goTo, isolated } from "./dom.js";

export class Lines {
  // `act` has `moved`, told the line that the reader is at, and `edit(kind, line, corrected)`.
  constructor({ lines }, act) {
    Object.assign(this, { lines, act, at: 0, items: [] });
    this.box = el("ol", {
      class: "edit-rows", "aria-labelledby": "candidate-title", "aria-describedby": "words-hint",
      on: { keydown: (event) => this.pressed(event), focusin: (event) => this.entered(event), click: (event) => this.entered(event) },
    });
  }

  draw(items) {
    const hadFocus = this.box.contains(document.activeElement);
    this.items = items;
    const rows = [];
    for (let line = 0; line <= this.lines.length; line += 1) {
      const last = line === this.lines.length;
      rows.push(...this.put(line, last));
      rows.push(this.row(line, last));
    }
    this.box.replaceChildren(...rows);
    if (hadFocus) this.focus();
  }

  put(line, last) {
    return this.items.filter(({ edit }) => edit?.kind === "insert" && (last ? edit.line === null || edit.line === line : edit.line === line))
      .map(({ edit }) => el("li", { class: "edit-row insert" },
        el("span", { class: "line-number" }, "+"), el("ins", { class: "line-text", dir: "auto" }, edit.corrected)));
  }

  row(line, last) {
    const text = last ? null : this.lines[line].text;
    const edit = this.editOf(line);
    const name = last ? "end of the report" : `line ${line}`;
    return el("li", {
      class: `edit-row ${edit ? edit.kind : ""}`, "data-line": line, tabindex: line === this.at ? "0" : "-1",
      "aria-current": line === this.at ? "true" : null,
    },
    el("span", { class: "line-number" }, el("span", { class: "unseen" }, `${name} `), last ? "" : el("span", { "aria-hidden": "true" }, String(line))),
    el("span", { class: "line-text", dir: "auto" }, last ? el("em", { class: "small" }, "end") : words(text, edit)));
  }

  editOf(line) {
    return this.items.find(({ edit }) => edit && edit.kind !== "insert" && edit.line === line)?.edit ?? null;
  }

  entered(event) {
    const row = event.target.closest("[data-line]");
    if (!row || event.target.closest("textarea, button")) return;
    this.go(Number(row.dataset.line), event.type === "click");
  }

  go(line, focus = true) {
    this.at = Math.min(this.lines.length, Math.max(0, line));
    for (const row of this.box.querySelectorAll("[data-line]")) {
      const here = Number(row.dataset.line) === this.at;
      row.tabIndex = here ? 0 : -1;
      if (here) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    if (focus) this.focus();
    this.act.moved(this.at);
  }

  focus() {
    const row = this.box.querySelector('[aria-current="true"]');
    if (document.activeElement !== row) goTo(row, "nearest");
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("textarea, button")) return;
    const acts = {
      ArrowDown: () => this.go(this.at + 1), ArrowUp: () => this.go(this.at - 1), Home: () => this.go(0),
      End: () => this.go(this.lines.length), Enter: () => this.act.begin("change"), Delete: () => this.act.begin("delete"),
      Backspace: () => this.act.begin("delete"), Insert: () => this.act.begin("insert"),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  }

  // Asks for the text of a line that is changed or put in, below the line or before it.
  write(kind, text) {
    const field = el("textarea", { rows: "2", maxlength: "20000", "aria-label": kind === "insert" ? "The new line" : "The line, corrected", value: text });
    const end = (take) => {
      row.remove();
      this.focus();
      const corrected = field.value.trim().replace(/\s+/g, " ");
      if (take && corrected) this.act.edit(kind, this.at, corrected);
    };
    field.addEventListener("keydown", (event) => {
      if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      end(event.key === "Enter");
    });
    const button = (words, take) => el("button", { type: "button", class: take ? "main" : null, on: { click: () => end(take) } }, words);
    const row = el("li", { class: "edit-row writing" }, el("span", {}),
      el("span", {}, field, el("span", { class: "tools" }, button("Apply (Enter)", true), button("Cancel (Esc)", false))));
    this.box.querySelector(".writing")?.remove();
    const here = this.box.querySelector('[aria-current="true"]');
    if (kind === "insert") here.before(row);
    else here.after(row);
    field.focus();
    field.select();
  }
}

// A line with what is taken out and put in: the words between those that stay at both ends.
function words(text, edit) {
  if (!edit) return isolated(text);
  if (edit.kind === "delete") return el("del", {}, isolated(text));
  const [before, after] = [text.split(" "), edit.corrected.split(" ")];
  const most = Math.min(before.length, after.length);
  let [head, tail] = [0, 0];
  while (head < most && before[head] === after[head]) head += 1;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const part = (all) => all.slice(head, all.length - tail).join(" ");
  return [before.slice(0, head).join(" "), " ", part(before) ? el("del", {}, part(before)) : "", " ",
    part(after) ? el("ins", {}, part(after)) : "", " ", before.slice(before.length - tail).join(" ")];
}
