// One study that is read: both reports, the marks in them, and the mark that is being made.

import { alarm, announce, button, el, factList, find, goTo, isolated, redraw } from "./dom.js";
import { applyKey, isComplete, kindOf, labelled, ofKind, shownAs } from "./marks.js";
import { Lines, ReportText, markCurrent } from "./report.js";
import { capital, count } from "./format.js";

const HINTS = {
  words: "Select words: in the candidate what is wrong, in the reference what is missing.",
  lines: "Choose a line of the candidate and change it, delete it, or put one in before it.",
};
const UNLABELLED = "Give the mark its labels first, or press Esc to cancel it.";
const EDITS = { change: "changed to", delete: "deleted", insert: "put in" };

// A button with its key.
export function keyButton(act, text, key, click, { tone, isPressed, ...more } = /** @type {any} */ ({})) {
  return button([key ? [el("kbd", { "aria-hidden": "true" }, key), " "] : [], text].flat(), click, {
    "data-act": act, class: tone && `tone-${tone}`,
    "aria-pressed": isPressed === undefined ? null : String(isPressed),
    "aria-keyshortcuts": /^[A-Z]$/.test(key) ? `Shift+${key}` : key, ...more,
  });
}

function wordsOf({ edit, text }) {
  return edit && edit.kind !== "delete" ? edit.corrected : text || "(no words)";
}

export class StudyEditor {
  app; study; reading; kinds;
  draft = null;
  range = null;
  chosen = -1;
  past = [];  // readings before each change
  isWarned = false;

  // `reading` is what the reader has marked so far; `app` saves it and knows the rubric.
  constructor(app, study, reading, title) {
    Object.assign(this, { app, study, reading, kinds: app.kinds });
    const act = { selected: (range) => this.#select(range), pressed: (at) => this.#selectMark(at, true) };
    this.reports = [new ReportText("reference", study.reference, act)];
    if (app.rubric.has_edits) {
      this.lines = new Lines(study.candidate, {
        moved: () => this.#drawBar(),
        begin: (kind) => this.begin(kind),
        edit: (kind, line, corrected) => this.#startEdit({ kind, line, corrected }),
      });
    } else {
      this.reports.push(new ReportText("candidate", study.candidate, act));
    }
    this.list = el("div", { class: "marks" });
    this.bar = el("div", { class: "bar", role: "region", "aria-label": "The mark" });
    this.comment = el("textarea", {
      id: "comment", rows: "1", maxlength: "20000", value: reading.comment, on: { change: () => this.keepComment() },
    });
    const report = (side, box) => el("section", { class: `report ${side}`, "aria-labelledby": `${side}-title` },
      el("h3", { id: `${side}-title` }, capital(side)), box);
    this.reason = el("p", {});
    this.element = el("div", { class: "editor" },
      el("header", { class: "editor-head" }, title, this.reason, study.context.length
        ? factList(study.context.map(({ name, value }) => [name.replaceAll("_", " "), isolated(value)]),
          { tabindex: "0", "aria-label": "Clinical context" }) : null),
      el("div", { class: "reading" },
        report("reference", this.reports[0].box), report("candidate", (this.lines ?? this.reports[1]).box)),
      el("div", { class: "below" }, this.list, el("label", { for: "comment" }, "Comment"), this.comment),
      this.bar);
    this.draw();
  }

  draw() {
    const { items, cannot_judge: why } = this.reading;
    const marks = items.map((item, at) => ({ ...item, tone: shownAs(this.kinds, item).tone, key: at, name: at + 1 }));
    for (const report of this.reports) {
      report.draw(marks.filter(({ side, start, edit }) => side === report.side && start !== null && !edit));
    }
    this.lines?.draw(this.draft?.edit ? [...items.filter((item) => !this.#replaces(item)), this.draft] : items);
    this.reason.replaceChildren(...(why ? ["Cannot judge: ", isolated(why), " ",
      button("Judge it after all", () => this.cannotJudge(""), { class: "quiet" })] : []));
    this.#drawCards();
    this.#drawBar();
  }

  #drawCards() {
    const cards = this.reading.items.map((item, at) => this.#card(item, at));
    redraw(this.list, cards.length ? el("ol", { class: "errors", "aria-label": "Marks" }, cards)
      : el("p", { class: "small" }, "Nothing is marked yet."));
  }

  #card(item, at) {
    const { tone, grade, tags } = shownAs(this.kinds, item);
    const { edit, side } = item;
    const place = edit ? `${edit.kind === "insert" ? "" : `line ${edit.line} `}${EDITS[edit.kind]}` : side ? `${side}:` : "";
    return el("li", {
      id: `card-${at}`, class: `card tone-${tone}`, tabindex: "-1", "aria-current": at === this.chosen ? "true" : null,
      on: { focus: () => this.#selectMark(at) },
    },
    el("span", { class: "error-number" }, String(at + 1)),
    el("strong", { class: "severity" }, grade),
    el("span", {}, tags.join(", ")),
    el("span", {}, el("span", { class: "small" }, place), " ", isolated(wordsOf(item))),
    button("✕", () => this.remove(at), { class: "quiet", "aria-label": `Delete mark ${at + 1}`, "aria-keyshortcuts": "Shift+X" }));
  }

  // The mark that is being made, else the chosen one.
  get #item() {
    return this.draft ?? this.reading.items[this.chosen];
  }

  #drawBar() {
    redraw(this.bar, this.#item ? this.#labelling(this.#item) : this.#idle());
  }

  #idle() {
    const { lines, range } = this;
    const hint = el("p", { id: "words-hint", class: "small" },
      range ? isolated(`“${range.text}”`) : lines ? HINTS.lines : HINTS.words);
    if (!lines) return [hint];
    const isEnd = lines.at === lines.lines.length;
    return [hint, el("div", { class: "tools" },
      keyButton("change", "Change line", "Enter", () => this.begin("change"), { disabled: isEnd }),
      keyButton("delete", "Delete line", "Del", () => this.begin("delete"), { disabled: isEnd }),
      keyButton("insert", isEnd ? "Put in at the end" : `Put in before line ${lines.at}`, "i", () => this.begin("insert")))];
  }

  #labelling(item) {
    const { kinds, draft } = this;
    const kind = kindOf(kinds, item);
    const others = item.edit ? [] : kinds.filter((other) => other !== kind);
    const choice = ({ name }, label) => keyButton(`${name}-${label.name}`, label.label.replace(new RegExp(`^${label.key} `), ""), label.key,
      () => this.#commit(labelled(kinds, item, name, label.name)),
      { isPressed: Boolean(item.labels[name]?.includes(label.name)), tone: label.tone });
    return [
      el("p", { id: "words-hint", class: "small" }, draft ? "Marking " : `Mark ${this.chosen + 1}: `, isolated(`“${wordsOf(item)}”`)),
      ...kind.facets.map((facet) => el("div", { class: "tools", role: "group", "aria-label": capital(facet.label) },
        facet.labels.map((label) => choice(facet, label)))),
      el("div", { class: "tools" },
        others.map((other) => keyButton(`kind-${other.name}`, capital(other.label), other.key, () => this.#commit(ofKind(item, other)))),
        draft ? null : keyButton("remove", "Delete mark", "X", () => this.remove()),
        keyButton("cancel", draft ? "Cancel" : "Close", "Esc", () => this.cancel())),
    ];
  }

  // A changed reading is saved at once, and undone by undo.
  #keep(changes, what) {
    this.past.push(this.reading);
    this.reading = this.app.save({ ...this.reading, ...changes });
    announce(what);
  }

  // Nothing is drawn anew: the comment may be left by pressing a button of what is drawn.
  keepComment() {
    if (this.comment.value !== this.reading.comment) this.#keep({ comment: this.comment.value }, "Comment saved");
  }

  undo() {
    if (this.draft) return this.cancel();
    if (!this.past.length) return announce("There is nothing to undo");
    this.reading = this.app.save(this.past.pop());
    this.comment.value = this.reading.comment;
    this.cancel();
    return announce("Undone");
  }

  #select(range) {
    this.range = range;
    this.chosen = -1;
    for (const report of this.reports) if (report.side !== range.side) report.forget();
    if (!this.lines) this.draft = { kind: this.kinds[0].name, labels: {}, edit: null, ...this.draft, ...range };
    this.#drawCards();
    this.#drawBar();
    announce(`${range.text}, in the ${range.side}`);
  }

  // Begins the correction of the line that the reader is at.
  begin(kind) {
    const { at, lines } = this.lines;
    if (kind !== "insert" && at === lines.length) return false;
    if (kind === "delete") this.#startEdit({ kind, line: at, corrected: "" });
    else this.lines.write(kind, kind === "change" ? this.lines.editOf(at)?.corrected || lines[at].text : this.#sentence());
    return true;
  }

  // The words chosen in the reference, with the stop after them.
  #sentence() {
    if (!this.range) return "";
    const stop = this.reports[0].points[this.range.end];
    return this.range.text + (".!?".includes(stop ?? " ") ? stop : "");
  }

  #startEdit(edit) {
    const line = this.study.candidate.lines[edit.line];
    if (edit.kind === "change" && edit.corrected === line.text) return;
    const place = edit.kind !== "insert" ? { side: "candidate", start: line.start, end: line.end, text: line.text }
      : this.range ?? { side: null, start: null, end: null, text: "" };
    this.draft = { kind: this.kinds[0].name, labels: {}, ...place, edit: { ...edit, line: line ? edit.line : null } };
    const replaced = this.reading.items.find((item) => this.#replaces(item));
    if (replaced) this.#commit({ ...this.draft, labels: replaced.labels });
    else this.draw();
  }

  // Whether the mark that is being made corrects the line of this one.
  #replaces({ edit }) {
    const draft = this.draft?.edit;
    return Boolean(draft && edit && draft.kind !== "insert" && edit.kind !== "insert" && draft.line === edit.line);
  }

  // Applies a key of the rubric; false where there is nothing to label.
  press(key) {
    const changed = this.#item && applyKey(this.kinds, this.#item, key);
    if (changed) this.#commit(changed);
    return Boolean(changed);
  }

  // Takes a mark with its labels: the one that is being made, once it is complete, or the chosen one.
  #commit(item) {
    const { items } = this.reading;
    if (!this.draft) {
      this.#keep({ items: items.with(this.chosen, item) }, "Mark changed");
      this.draw();
      return goTo(find(`#card-${this.chosen}`, this.list), "nearest");
    }
    this.draft = item;
    if (!isComplete(this.kinds, item)) return this.#drawBar();
    const others = items.filter((other) => !this.#replaces(other));
    const report = this.reports.find(({ side }) => side === this.range?.side);
    Object.assign(this, { draft: null, range: null });
    this.#keep({ items: [...others, item] }, `${capital(kindOf(this.kinds, item).label)} marked: ${wordsOf(item)}`);
    this.draw();
    report?.rest();
    return report ? report.box.focus({ preventScroll: true }) : this.lines?.focus();
  }

  #clear() {
    Object.assign(this, { draft: null, range: null, chosen: -1 });
    this.reports.forEach((report) => report.forget());
  }

  cancel() {
    const isUsed = this.draft || this.range || this.chosen >= 0;
    this.#clear();
    this.draw();
    return Boolean(isUsed);
  }

  #selectMark(at, isFocused = false) {
    if (at === this.chosen && !isFocused) return;
    this.#clear();
    this.chosen = at;
    markCurrent(this.list.querySelectorAll(".card"), at);
    for (const word of this.element.querySelectorAll("[data-marks]")) {
      word.classList.toggle("lit", word.dataset.marks.split(" ").includes(String(at)));
    }
    this.#drawBar();
    if (isFocused) goTo(find(`#card-${at}`, this.list), "nearest");
  }

  move(by) {
    const last = this.reading.items.length - 1;
    if (last < 0) return false;
    this.#selectMark(this.chosen < 0 ? 0 : Math.min(last, Math.max(0, this.chosen + by)), true);
    return true;
  }

  remove(at = this.chosen) {
    if (at < 0) return false;
    this.#clear();
    this.#keep({ items: this.reading.items.toSpliced(at, 1) }, `Mark ${at + 1} deleted`);
    this.draw();
    return true;
  }

  // Saves the comment; false, with the reason, where a mark would be lost.
  leave() {
    this.keepComment();
    if (this.draft) alarm(new Error(UNLABELLED));
    return !this.draft;
  }

  // Ends the study, with `hasErrors` false as one without errors; false, with the reason, where it
  // cannot be ended yet.
  finish(hasErrors) {
    if (!this.leave()) return false;
    const { items, done, cannot_judge: why } = this.reading;
    const errors = items.filter((item) => kindOf(this.kinds, item).graded_by);
    // Without a mark of what matches, where other studies have one, it would say that nothing matches.
    const forgotten = this.kinds.find(({ name, graded_by: grade }) =>
      !grade && this.app.marked.has(name) && !items.some((item) => item.kind === name));
    const wrong = !hasErrors && errors.length
      ? `${count(errors.length, this.kinds[0].label, this.kinds[0].plural)} marked: delete them, or press Shift+G.`
      : forgotten && !done && !this.isWarned
        ? `No ${forgotten.label} is marked here, as in other studies: mark each with ${forgotten.key}, or say so again.` : "";
    this.isWarned ||= Boolean(forgotten);
    if (wrong) alarm(new Error(wrong));
    else if (!done || why) this.#keep({ done: true, cannot_judge: "" }, hasErrors ? "Done" : "No errors");
    return !wrong;
  }

  // Ends the study without a judgement, for a reason; with none it is to be judged after all.
  cannotJudge(why) {
    this.#keep({ done: why !== "", cannot_judge: why }, why ? "Cannot judge" : "Not done");
    this.draw();
    this.focus();
  }

  focus() {
    const first = this.lines ? find('[aria-current="true"]', this.lines.box) : this.reports[1].box;
    first.focus({ preventScroll: true });
  }
}
