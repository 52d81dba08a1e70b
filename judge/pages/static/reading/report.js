// A report as an element for each word, and how words are chosen by mouse, touch or keyboard.
// Marking and choosing change classes only, so that no line of the text moves.

import { el } from "./dom.js";

const WORD = /[\p{L}\p{N}_]+(?:[-'’.,/][\p{L}\p{N}_]+)*%?/gu;
const HEADING = /^[A-Z][A-Z &/]{2,40}:\s*/;

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
    // A heading that a line begins with is none of its words.
    const heads = lines.map(({ start, end }) =>
      start + (HEADING.exec(this.#text(start, end))?.[0].length ?? 0));
    let line = -1;
    this.lineOfWord = this.words.map(({ start }) => {
      while (lines[line + 1]?.start <= start) line += 1;
      return start < heads[line] ? -1 : line;
    });
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
    const tokens = [];
    let [unit, point] = [0, 0];
    const add = (part, isWord) => {
      if (!part) return;
      const end = point + [...part].length;
      const word = Math.max(0, isWord ? this.words.length : this.words.length - 1);
      const token = { start: point, end, element: el("span", { "data-word": String(word) }, part) };
      tokens.push(token);
      if (isWord) this.words.push(token);
      point = end;
    };
    for (const { index, 0: word } of text.matchAll(WORD)) {
      add(text.slice(unit, index), false);
      add(word, true);
      unit = index + word.length;
    }
    add(text.slice(unit), false);
    return tokens;
  }

  #text(start, end) {
    return this.points.slice(start, end).join("");
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
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.words.length - 1;
    const line = this.lineOfWord[this.head] ?? -1;
    const more = event.shiftKey;
    const steps = {
      ArrowRight: () => this.#choose(Math.min(last, this.head + 1), more),
      ArrowLeft: () => this.#choose(Math.max(0, this.head < 0 ? last : this.head - 1), more),
      ArrowDown: () => this.#chooseLine(line + 1, more),
      ArrowUp: () => this.#chooseLine(line < 0 ? this.lineOfWord[last] : line - 1, more),
      Home: () => this.#choose(0, more),
      End: () => this.#choose(last, more),
    };
    if (!Object.hasOwn(steps, event.key) || last < 0) return;
    event.preventDefault();
    event.stopPropagation();
    steps[event.key]();
  }

  #choose(word, more) {
    this.head = word;
    if (!more || this.anchor < 0) this.anchor = word;
    this.#tell();
  }

  // A line is chosen whole; with Shift it is added to what was chosen.
  #chooseLine(line, more) {
    const [first, last] = [this.lineOfWord.indexOf(line), this.lineOfWord.lastIndexOf(line)];
    if (first < 0) return;
    if (more && this.anchor >= 0) this.head = first < this.anchor ? first : last;
    else [this.anchor, this.head] = [first, last];
    this.#tell();
  }

  // A mouse chooses while it is drawn over the words; a finger scrolls, and taps.
  #down(event) {
    const word = wordOf(event.target);
    this.pointer = event.pointerType;
    this.isDrag = false;
    if (word < 0 || this.pointer === "touch" || event.button !== 0) return;
    this.#choose(word, event.shiftKey);
  }

  #moved({ target, buttons }) {
    const word = wordOf(target);
    if (word < 0 || this.pointer === "touch" || buttons !== 1 || word === this.head || this.anchor < 0) return;
    this.isDrag = true;
    this.#choose(word, true);
  }

  #clicked({ target, shiftKey }) {
    const word = wordOf(target);
    if (word < 0) return;
    const [low, high] = this.#span();
    const isTap = this.pointer === "touch";
    const [mark] = target.dataset.marks?.split(" ") ?? [];
    if (mark && !this.isDrag && !shiftKey && !(isTap && low >= 0)) {
      this.act.pressed(Number(mark));
    } else if (isTap) {
      // The first tap chooses a word, the next all up to it, one on what is chosen that word alone.
      const isBeside = low >= 0 && (word < low || word > high);
      if (isBeside) this.anchor = word < low ? high : low;
      this.#choose(word, isBeside);
    }
  }

  #span() {
    return [Math.min(this.anchor, this.head), Math.max(this.anchor, this.head)];
  }

  #tell() {
    this.isResting = false;
    this.#show();
    this.words[this.head].element.scrollIntoView({ block: "nearest" });
    const [first, last] = this.#span();
    const [{ start }, { end }] = [this.words[first], this.words[last]];
    this.act.selected({ side: this.side, start, end, text: this.#text(start, end) });
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
    this.anchor = -1;
    this.head = -1;
    this.#show();
  }
}

function wordOf(element) {
  return Number(element.closest?.("[data-word]")?.dataset.word ?? -1);
}
