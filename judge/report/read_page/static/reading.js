// One study on the reader's desk: both reports, what is marked in them, and the mark in the making.

import { alarm, announce, el, fact, goTo, isolated } from "./dom.js";
import { isWhole, kindOf, pressed, shownAs } from "./draft.js";
import { cards, wordsOf } from "./cards.js";
import { idle, labelling } from "./bar.js";
import { ImageView } from "./image.js";
import { Lines } from "./lines.js";
import { ReportText } from "./text.js";
import { capital, count } from "./words.js";

export class Desk {
  // `reading` is what the reader has marked so far; `app` saves it and knows the rubric.
  constructor(app, study, reading, title) {
    Object.assign(this, { app, study, reading, draft: null, range: null, chosen: -1 });
    this.kinds = app.kinds;
    const act = { picked: (range) => this.pick(range), touched: ([key]) => this.choose(Number(key), true) };
    this.reports = [new ReportText("reference", study.reference, act)];
    if (app.hasEdits) {
      this.lines = new Lines(study.candidate, {
        moved: () => this.drawBar(), begin: (kind) => this.begin(kind), edit: (kind, line, corrected) => this.propose({ kind, line, corrected }),
      });
    } else this.reports.push(new ReportText("candidate", study.candidate, act));
    this.image = study.n_images ? new ImageView(app.imagesOf(study)) : null;
    this.list = el("div", { class: "marks" });
    this.bar = el("div", { class: "bar", role: "region", "aria-label": "The mark" });
    this.comment = el("textarea", {
      id: "comment", rows: "1", maxlength: "20000", value: reading.comment, on: { change: () => this.keepComment() },
    });
    this.element = this.drawn(title);
    this.draw();
  }

  drawn(title) {
    const report = (side, body) => el("section", { class: `report ${side}`, "aria-labelledby": `${side}-title` },
      el("h3", { id: `${side}-title` }, capital(side)), body);
    const { context } = this.study;
    return el("div", { class: "desk" },
      el("header", { class: "desk-head" }, title, context.length ? el("dl", { class: "facts context", tabindex: "0", "aria-label": "Clinical context" },
        context.map(({ name, value }) => fact(name.replaceAll("_", " "), isolated(value)))) : null),
      el("div", { class: `sides${this.image ? " imaged" : ""}` }, this.image?.element,
        report("reference", this.reports[0].box), report("candidate", (this.lines ?? this.reports[1]).box)),
      el("div", { class: "below" }, this.list,
        el("p", { class: "comment" }, el("label", { for: "comment" }, "Comment"), this.comment)),
      this.bar);
  }

  draw() {
    const { items } = this.reading;
    for (const report of this.reports) {
      const marks = items.map((item, at) => ({ item, key: String(at), name: String(at + 1) }))
        .filter(({ item }) => item.side === report.side && item.start !== null && !item.edit)
        .map(({ item, ...rest }) => ({ start: item.start, end: item.end, tone: shownAs(this.kinds, item).tone, ...rest }));
      report.draw(marks);
    }
    this.lines?.draw(this.draft?.edit ? [...items.filter((item) => !this.takesPlaceOf(item)), this.draft] : items);
    this.drawCards();
    this.drawBar();
  }

  drawCards() {
    this.list.replaceChildren(cards(this.kinds, this.reading.items, this.chosen,
      { choose: (at) => this.choose(at), remove: (at) => this.remove(at) }));
  }

  // The reading with changes: kept at once, and taken back by undo.
  change(changes, what) {
    this.keep(changes, what);
    this.draw();
  }

  keep(changes, what) {
    const before = this.reading;
    this.reading = { ...before, ...changes };
    this.app.keep(before, this.reading);
    announce(what);
  }

  // Nothing is drawn anew: the comment may be left by pressing a button of what is drawn.
  keepComment() {
    if (this.comment.value !== this.reading.comment) this.keep({ comment: this.comment.value }, "Comment saved");
  }

  restore(reading) {
    this.reading = reading;
    this.comment.value = reading.comment;
    this.cancel();
  }

  pick(range) {
    if (JSON.stringify(range) === JSON.stringify(this.range)) return;
    this.range = range;
    this.chosen = -1;
    for (const report of this.reports) if (report.side !== range.side) report.forget();
    if (!this.lines) this.draft = { kind: this.kinds[0].name, labels: {}, edit: null, ...this.draft, ...range };
    this.drawCards();
    this.drawBar();
    // The bar has grown: it must not lie over the words, nor over the next to be chosen.
    const covered = (getSelection().rangeCount ? getSelection().getRangeAt(0).getBoundingClientRect().bottom + 60 : 0) - this.bar.getBoundingClientRect().top;
    if (covered > 0) window.scrollBy(0, covered);
    announce(`${range.text}, in the ${range.side}`);
  }

  // Begins the correction of the line that the reader is at.
  begin(kind) {
    const { at, lines } = this.lines;
    if (kind !== "insert" && at === lines.length) return false;
    if (kind === "delete") this.propose({ kind, line: at, corrected: "" });
    else this.lines.write(kind, kind === "change" ? this.lines.editOf(at)?.corrected || lines[at].text : this.sentence());
    return true;
  }

  // The words chosen in the reference, with the stop after them.
  sentence() {
    if (!this.range) return "";
    const next = [...this.study.reference.text][this.range.end];
    return this.range.text + (".!?".includes(next ?? " ") ? next : "");
  }

  propose(edit) {
    const here = this.study.candidate.lines[edit.line];
    if (edit.kind === "change" && edit.corrected === here.text) return;
    const place = edit.kind !== "insert" ? { side: "candidate", start: here.start, end: here.end, text: here.text }
      : this.range ?? { side: null, start: null, end: null, text: "" };
    const line = edit.kind === "insert" && !here ? null : edit.line;
    this.draft = { kind: this.kinds[0].name, labels: {}, ...place, edit: { ...edit, line } };
    const old = this.reading.items.find((item) => this.takesPlaceOf(item));
    if (old) this.settle({ ...this.draft, labels: old.labels });
    else this.draw();
  }

  // Whether the mark in the making is a correction of the line that this one corrects.
  takesPlaceOf({ edit }) {
    const own = this.draft?.edit;
    return Boolean(own && edit && own.kind !== "insert" && edit.kind !== "insert" && own.line === edit.line);
  }

  // What a key of the rubric means here; false where there is nothing to label.
  press(key) {
    const item = this.draft ?? this.reading.items[this.chosen];
    const made = item && pressed(this.kinds, item, key);
    if (!made) return false;
    this.settle(made);
    return true;
  }

  // Takes over a mark with its labels: the one that is being made, once it is whole, or the chosen.
  settle(item) {
    const { items } = this.reading;
    if (!this.draft) {
      this.change({ items: items.map((one, at) => (at === this.chosen ? item : one)) }, "Mark changed");
      goTo(this.list.querySelector(`#card-${this.chosen}`), "nearest");
      return;
    }
    this.draft = item;
    if (!isWhole(this.kinds, item)) {
      this.drawBar(); // the reports stay as they are, with what is selected in them
      return;
    }
    const rest = items.filter((one) => !this.takesPlaceOf(one));
    const report = this.report;
    this.clear();
    this.change({ items: [...rest, item] }, `${capital(kindOf(this.kinds, item).label)} marked: ${wordsOf(item)}`);
    this.list.scrollTop = this.list.scrollHeight;
    if (report) report.box.focus({ preventScroll: true });
    else this.lines?.focus();
  }

  // The report in which words are chosen.
  get report() {
    return this.reports.find(({ side }) => side === this.range?.side);
  }

  clear() {
    Object.assign(this, { draft: null, range: null });
    getSelection().removeAllRanges();
  }

  cancel() {
    const had = this.draft || this.range || this.chosen >= 0;
    this.clear();
    this.reports.forEach((report) => report.forget());
    this.chosen = -1;
    this.draw();
    return Boolean(had);
  }

  choose(at, focus = false) {
    if (at === this.chosen && !focus) return;
    this.clear();
    this.chosen = at;
    for (const card of this.list.querySelectorAll(".card")) {
      if (card.id === `card-${at}`) card.setAttribute("aria-current", "true");
      else card.removeAttribute("aria-current");
    }
    for (const mark of this.element.querySelectorAll("mark")) {
      mark.classList.toggle("lit", mark.dataset.marks.split(" ").includes(String(at)));
    }
    this.drawBar();
    if (focus) goTo(this.list.querySelector(`#card-${at}`), "nearest");
  }

  move(by) {
    const n = this.reading.items.length;
    if (n === 0) return false;
    this.choose(this.chosen < 0 ? (by > 0 ? 0 : n - 1) : Math.min(n - 1, Math.max(0, this.chosen + by)), true);
    return true;
  }

  remove(at = this.chosen) {
    if (at < 0) return false;
    this.clear();
    this.chosen = -1;
    this.change({ items: this.reading.items.filter((_, number) => number !== at) }, `Mark ${at + 1} deleted`);
    return true;
  }

  // Says that the study is read; false, with the reason, where it cannot be yet.
  finish({ nothing }) {
    this.keepComment();
    const { items } = this.reading;
    const wrong = items.filter((item) => kindOf(this.kinds, item).graded_by);
    // Who marks what matches in some studies and forgets it in one has said that nothing matches.
    const forgotten = this.kinds.find(({ name, graded_by: grade }) =>
      !grade && this.app.marked.has(name) && !items.some((item) => item.kind === name));
    if (this.draft) alarm(new Error("A mark is not whole yet: give it its labels, or press Esc to cancel it."));
    else if (nothing && wrong.length) {
      alarm(new Error(`Something is marked as wrong (${count(wrong.length, this.kinds[0].label, this.kinds[0].plural)}). Delete it, or press Shift+G: done.`));
    } else if (forgotten && !this.reading.done && !this.warned) {
      this.warned = true;
      alarm(new Error(`No ${forgotten.label} is marked here, as in other studies. Mark each with ${forgotten.key}; where there is none, say so again.`));
    } else {
      if (!this.reading.done) this.change({ done: true }, nothing ? "No errors" : "Done");
      return true;
    }
    return false;
  }

  focus() {
    const first = this.lines ? this.lines.box.querySelector('[aria-current="true"]') : this.reports[1].box;
    first.focus({ preventScroll: true });
  }

  drawBar() {
    const hadFocus = this.bar.contains(document.activeElement) ? document.activeElement.dataset.act : null;
    const item = this.draft ?? this.reading.items[this.chosen];
    this.bar.replaceChildren(...(item ? labelling(this, item) : idle(this)));
    this.bar.querySelector(`[data-act="${hadFocus}"]`)?.focus();
  }
}
