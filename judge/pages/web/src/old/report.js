// A report that is read: as words that are chosen by mouse, touch or keyboard, or as numbered lines
// that are corrected.

import { button, el, find, goTo, isolated } from "./dom.js";
import { differences } from "./format.js";

const WORD = /([\p{L}\p{N}_]+(?:[-'’.,/][\p{L}\p{N}_]+)*%?)/u;

export function markCurrent(elements, current) {
  elements.forEach((element, at) => {
    if (at === current) element.setAttribute("aria-current", "true");
    else element.removeAttribute("aria-current");
  });
}

// Does what a key of its own means here, by the event's key.
function pressed(event, acts) {
  if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(acts, event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  acts[event.key]();
}

// An element for each word. Marking and choosing change classes only, so that no line moves.
export class ReportText {
  side; act; points;
  anchor = -1;
  head = -1;

  // `act` has `selected`, told the chosen words as `{ side, start, end, text }` in code points (as
  // the service counts), and `pressed`, told the number of a mark.
  constructor(side, { text, lines }, act) {
    Object.assign(this, { side, act, points: [...text] });
    this.words = [];
    this.tokens = this.#split(text);
    this.lineOfWord = this.words.map(({ start }) => lines.findLastIndex((line) => line.start <= start));
    this.box = el("div", {
      class: "text words", dir: "auto", tabindex: "0", role: "textbox", "aria-readonly": "true",
      "aria-multiline": "true", "aria-labelledby": `${side}-title`, "aria-describedby": "words-hint",
      on: {
        keydown: (event) => this.#pressed(event),
        pointerdown: (event) => this.#down(event),
        pointermove: (event) => this.#moved(event),
        click: (event) => this.#clicked(event),
      },
    }, this.tokens.length ? this.tokens.map(({ element }) => element) : el("em", {}, "(empty)"));
  }

  // Words and what lies between them, which belongs to the word before it.
  #split(text) {
    let start = 0;
    return text.split(WORD).flatMap((part, at) => {
      if (!part) return [];
      const isWord = at % 2 === 1;
      const word = Math.max(0, isWord ? this.words.length : this.words.length - 1);
      const end = start + [...part].length;
      const token = { start, end, element: el("span", { "data-word": String(word) }, part) };
      if (isWord) this.words.push(token);
      start = end;
      return [token];
    });
  }

  // `marks` have `start`, `end`, a `key`, a `name` and a `tone`; the last lies on top.
  draw(marks) {
    for (const { start, end, element } of this.tokens) {
      const here = marks.filter((mark) => mark.start < end && mark.end > start);
      element.className = here.length ? `marked tone-${here.at(-1).tone}` : "";
      element.dataset.marks = here.map(({ key }) => key).join(" ");
      const ended = here.filter((mark) => mark.end <= end);
      if (ended.length) element.dataset.numbers = ended.map(({ name }) => name).join(",");
      else delete element.dataset.numbers;
    }
    this.#show();
  }

  #pressed(event) {
    const last = this.words.length - 1;
    if (last < 0) return;
    const line = this.lineOfWord[this.head] ?? -1;
    const more = event.shiftKey;
    pressed(event, {
      ArrowRight: () => this.#choose(Math.min(last, this.head + 1), more),
      ArrowLeft: () => this.#choose(Math.max(0, this.head < 0 ? last : this.head - 1), more),
      ArrowDown: () => this.#chooseLine(line + 1, more),
      ArrowUp: () => this.#chooseLine(line < 0 ? this.lineOfWord[last] : line - 1, more),
    });
  }

  #choose(word, more) {
    this.head = word;
    if (!more || this.anchor < 0) this.anchor = word;
    this.isResting = false;
    this.#show();
    this.words[word].element.scrollIntoView({ block: "nearest" });
    const [first, last] = this.#span();
    const [{ start }, { end }] = [this.words[first], this.words[last]];
    this.act.selected({ side: this.side, start, end, text: this.points.slice(start, end).join("") });
  }

  // A line is chosen whole; with Shift it is added to what was chosen.
  #chooseLine(line, more) {
    const [first, last] = [this.lineOfWord.indexOf(line), this.lineOfWord.lastIndexOf(line)];
    if (first < 0) return;
    const isMore = more && this.anchor >= 0;
    if (!isMore) this.anchor = first;
    this.#choose(isMore && first < this.anchor ? first : last, true);
  }

  // A mouse chooses while it is drawn over the words; a finger scrolls, and taps.
  #down({ target, pointerType, shiftKey }) {
    const word = wordOf(target);
    this.isTap = pointerType === "touch";
    this.isDrag = false;
    if (word >= 0 && !this.isTap) this.#choose(word, shiftKey);
  }

  #moved({ target, buttons }) {
    const word = wordOf(target);
    if (word < 0 || this.isTap || buttons !== 1 || word === this.head || this.anchor < 0) return;
    this.isDrag = true;
    this.#choose(word, true);
  }

  // The first tap chooses a word, the next all up to it, one on what is chosen that word alone.
  #clicked({ target, shiftKey }) {
    const word = wordOf(target);
    if (word < 0) return;
    const [low, high] = this.#span();
    const isBeside = low >= 0 && (word < low || word > high);
    const [mark] = target.dataset.marks?.split(" ") ?? [];
    if (mark && !this.isDrag && !shiftKey && !(this.isTap && low >= 0)) this.act.pressed(Number(mark));
    else if (this.isTap) this.#choose(word, isBeside);
  }

  #span() {
    return [Math.min(this.anchor, this.head), Math.max(this.anchor, this.head)];
  }

  #show() {
    const [first, last] = this.#span();
    const [start, end] = first < 0 || this.isResting ? [0, 0] : [this.words[first].start, this.words[last].end];
    for (const token of this.tokens) {
      token.element.classList.toggle("chosen", token.start >= start && token.end <= end);
    }
  }

  // The chosen words are marked: they are shown as such, and the next are chosen from there.
  rest() {
    this.isResting = true;
    this.#show();
  }

  forget() {
    [this.anchor, this.head] = [-1, -1];
    this.#show();
  }
}

function wordOf(element) {
  return Number(element.closest?.("[data-word]")?.dataset.word ?? -1);
}

// Numbered lines that a reader changes, deletes and puts in.
export class Lines {
  lines; act;
  at = 0;
  items = [];

  // `act` has `moved()`, `begin(kind)` and `edit(kind, line, corrected)`.
  constructor({ lines }, act) {
    Object.assign(this, { lines, act });
    const entered = (event) => this.#entered(event);
    this.box = el("ol", {
      class: "edit-rows", "aria-labelledby": "candidate-title", "aria-describedby": "words-hint",
      on: { keydown: (event) => this.#pressed(event), focusin: entered, click: entered },
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
      .map(({ edit }) => el("li", { class: "edit-row" },
        el("span", { class: "line-number" }, "+"),
        el("ins", { class: "line-text", dir: "auto" }, edit.corrected)));
  }

  #row(line) {
    const text = this.lines[line]?.text;
    const edit = this.editOf(line);
    return el("li", {
      class: "edit-row", "data-line": line,
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
    rows.forEach((row, at) => { row.tabIndex = at === this.at ? 0 : -1; });
    if (focus) this.focus();
    this.act.moved();
  }

  focus() {
    const row = find('[aria-current="true"]', this.box);
    if (document.activeElement !== row) goTo(row, "nearest");
  }

  #pressed(event) {
    if (event.target.closest("textarea, button")) return;
    pressed(event, {
      ArrowDown: () => this.#go(this.at + 1), ArrowUp: () => this.#go(this.at - 1),
      Enter: () => this.act.begin("change"), Delete: () => this.act.begin("delete"),
    });
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
      if (!event.isComposing) pressed(event, { Enter: () => end(true), Escape: () => end(false) });
    });
    const row = el("li", { class: "edit-row writing" }, el("span", {}),
      el("span", {}, field, el("span", { class: "tools" },
        button("Apply (Enter)", () => end(true), { class: "main" }), button("Cancel (Esc)", () => end(false)))));
    find(".writing", this.box)?.remove();
    const line = find('[aria-current="true"]', this.box);
    if (kind === "insert") line.before(row);
    else line.after(row);
    field.focus();
    field.select();
  }
}
