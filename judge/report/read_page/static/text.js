// The words of a report: where they stand, and how they are chosen by mouse, touch or keyboard.

import { el } from "./dom.js";

const WORD = /[\p{L}\p{N}_]+(?:[-'’.,/][\p{L}\p{N}_]+)*%?/gu;
const HEADING = /^[A-Z][A-Z &/]{2,40}:\s*/;

// A service counts Unicode code points, a browser units of UTF-16: from the one to the other.
export const pointsAt = (text, unit) => [...text.slice(0, unit)].length;
export const unitsAt = (text, point) => [...text].slice(0, point).join("").length;

export class ReportText {
  // `picked` is told the words that are chosen, `{ side, start, end, text }` in code points, and
  // `touched` the numbers of the marks that somebody points at.
  constructor(side, { text, lines }, { picked, touched }) {
    Object.assign(this, { side, text, picked, touched, anchor: -1, head: -1 });
    this.words = [...text.matchAll(WORD)].map(({ index, 0: word }) => [index, index + word.length]);
    // A heading that a line begins with is none of its words.
    const starts = lines.map(({ start }) => unitsAt(text, start));
    const heads = starts.map((start) => start + (HEADING.exec(text.slice(start))?.[0].length ?? 0));
    const lineOf = (at) => starts.findLastIndex((start) => start <= at);
    this.lineOfWord = this.words.map(([start]) => (start < heads[lineOf(start)] ? -1 : lineOf(start)));
    this.box = el("div", {
      class: "text words", dir: "auto", tabindex: "0", role: "textbox", "aria-readonly": "true",
      "aria-multiline": "true", "aria-labelledby": `${side}-title`, "aria-describedby": "words-hint",
      on: {
        keydown: (event) => this.pressed(event), click: (event) => this.clicked(event),
        pointerdown: ({ pointerType }) => { this.pointer = pointerType; },
      },
    });
    this.draw([]);
  }

  // `marks` have `start` and `end` in code points, a `name` and a `tone`; the last lies on top.
  draw(marks) {
    const found = marks.map((mark, at) => ({
      ...mark, at, start: unitsAt(this.text, mark.start), end: unitsAt(this.text, mark.end),
    }));
    const cuts = [...new Set([0, this.text.length, ...found.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b);
    const pieces = cuts.slice(1).map((end, at) => this.piece(cuts[at], end, found));
    this.box.replaceChildren(...(pieces.length ? pieces : [el("em", {}, "(empty)")]));
  }

  piece(start, end, marks) {
    const text = this.text.slice(start, end);
    const here = marks.filter((mark) => mark.start < end && mark.end > start);
    if (!here.length) return document.createTextNode(text);
    const ends = here.filter((mark) => mark.end === end && mark.name);
    return el("mark", { class: `tone-${here.at(-1).tone}`, "data-marks": here.map(({ key }) => key).join(" ") }, text,
      ends.length ? el("sup", { "aria-hidden": "true", "data-numbers": ends.map(({ name }) => name).join(",") }) : null);
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.words.length - 1;
    const line = this.lineOfWord[this.head] ?? -1;
    const steps = {
      ArrowRight: () => this.to(Math.min(last, this.head + 1), event.shiftKey),
      ArrowLeft: () => this.to(Math.max(0, this.head < 0 ? last : this.head - 1), event.shiftKey),
      ArrowDown: () => this.toLine(line + 1, event.shiftKey),
      ArrowUp: () => this.toLine(line < 0 ? this.lineOfWord[last] : line - 1, event.shiftKey),
      Home: () => this.to(0, event.shiftKey),
      End: () => this.to(last, event.shiftKey),
    };
    if (!Object.hasOwn(steps, event.key) || last < 0) return;
    event.preventDefault();
    event.stopPropagation();
    steps[event.key]();
  }

  to(word, extend) {
    this.head = word;
    if (!extend || this.anchor < 0) this.anchor = word;
    this.show();
  }

  // A line is chosen whole; with Shift it is added to what was chosen.
  toLine(line, extend) {
    const [first, last] = [this.lineOfWord.indexOf(line), this.lineOfWord.lastIndexOf(line)];
    if (first < 0) return;
    if (extend && this.anchor >= 0) this.head = first < this.anchor ? first : last;
    else [this.anchor, this.head] = [first, last];
    this.show();
  }

  // Makes what is chosen the browser's own selection too, so that it is seen and read out.
  show() {
    const [start, end] = this.span();
    const range = document.createRange();
    range.setStart(...this.place(start));
    range.setEnd(...this.place(end));
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    const [around, own] = [range.getBoundingClientRect(), this.box.getBoundingClientRect()];
    if (around.bottom > own.bottom) this.box.scrollTop += around.bottom - own.bottom + 8;
    if (around.top < own.top) this.box.scrollTop -= own.top - around.top + 8;
    this.tell();
  }

  span() {
    const [first, last] = [Math.min(this.anchor, this.head), Math.max(this.anchor, this.head)];
    return [this.words[first][0], this.words[last][1]];
  }

  tell() {
    const [start, end] = this.span();
    this.picked({
      side: this.side, start: pointsAt(this.text, start), end: pointsAt(this.text, end), text: this.text.slice(start, end),
    });
  }

  // Takes over what was selected in the browser, as whole words; false where none of it is here.
  take(range, drawn) {
    if (!range.intersectsNode(this.box)) return false;
    const start = this.box.contains(range.startContainer) ? this.offset(range.startContainer, range.startOffset) : 0;
    const end = this.box.contains(range.endContainer) ? this.offset(range.endContainer, range.endOffset) : this.text.length;
    const first = this.words.findIndex(([, to]) => to > start);
    const last = this.words.findLastIndex(([from]) => from < end);
    if (first < 0 || last < first) return false;
    [this.anchor, this.head] = [first, last];
    if (drawn) this.show();
    else this.tell();
    return true;
  }

  forget() {
    this.anchor = -1;
    this.head = -1;
  }

  clicked(event) {
    const mark = event.target.closest("mark");
    if (mark && this.anchor < 0) {
      this.touched(mark.dataset.marks.split(" "));
    } else if (this.pointer === "touch") {
      this.tapped(event);
    }
  }

  // A tap chooses a word, the next one all up to it, one on what is chosen that word alone.
  tapped({ clientX, clientY }) {
    const found = document.caretPositionFromPoint?.(clientX, clientY);
    const older = found ? null : document.caretRangeFromPoint?.(clientX, clientY);
    const [node, at] = found ? [found.offsetNode, found.offset] : [older?.startContainer, older?.startOffset];
    if (!node || !this.box.contains(node)) return;
    const unit = this.offset(node, at);
    const word = this.words.findLastIndex(([start]) => start <= unit);
    if (word < 0) return;
    const [low, high] = [Math.min(this.anchor, this.head), Math.max(this.anchor, this.head)];
    const extend = this.anchor >= 0 && (word < low || word > high);
    if (extend) this.anchor = word < low ? high : low;
    this.to(word, extend);
  }

  offset(node, at) {
    const range = document.createRange();
    range.setStart(this.box, 0);
    range.setEnd(node, at);
    return range.toString().length;
  }

  place(unit) {
    const walker = document.createTreeWalker(this.box, NodeFilter.SHOW_TEXT);
    let [left, node] = [unit, walker.nextNode()];
    while (node && left > node.length) {
      left -= node.length;
      node = walker.nextNode();
    }
    return [node, left];
  }
}
