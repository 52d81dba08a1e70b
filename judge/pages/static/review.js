// A reader's verdicts on a study: right, wrong, wrong severity, missed errors, a comment.

import { alarm, announce, button, el, isolated } from "./dom.js";
import { ask } from "./load.js";
import { capital, count } from "./words.js";

const KEYS = { right: "Shift+A", wrong: "Shift+D", wrong_severity: "Shift+S" };

export class Review {
  // `study` has its `record`, the `fingerprints` of its errors, the `reviews` so far and the
  // `labels` of its rubric; `view` knows the reader and is told when something was recorded.
  constructor(study, view) {
    const { reviews, fingerprints, labels } = study;
    Object.assign(this, { study, view, fingerprints, labels });
    this.events = new Map((reviews ?? []).map((event) => [keyOf(event), event]));
    const { grades } = labels;
    this.verdicts = { right: "Right", wrong: "Wrong", ...(grades ? { wrong_severity: `Wrong ${grades.label}` } : {}) };
    this.cards = fingerprints.map((_, at) =>
      el("div", { class: "verdicts", role: "group", "aria-label": `Your verdict on ${labels.noun.label} ${at + 1}` }));
    this.written = el("ul", { class: "missed" });
    this.#draw();
  }

  item(at) {
    return this.cards[at];
  }

  get #all() {
    return [...this.events.values()].filter(({ verdict }) => verdict !== "none");
  }

  #isMine(event) {
    return event.reader === this.view.reader.name;
  }

  // The verdicts below each error, the missed errors that were added, and what others wrote.
  #draw() {
    // The buttons are drawn anew; whoever pressed one by keyboard stays on it.
    const card = document.activeElement?.closest?.(".verdicts");
    const pressed = document.activeElement?.dataset?.verdict;
    this.fingerprints.forEach((error, at) => {
      const all = this.#all.filter((event) => event.error === error);
      const mine = all.find((event) => this.#isMine(event));
      this.cards[at].replaceChildren(
        ...Object.entries(this.verdicts).map(([verdict, text]) =>
          button(text, () => this.judge(at, mine?.verdict === verdict ? "none" : verdict), {
            class: "verdict", "data-verdict": verdict, "aria-keyshortcuts": KEYS[verdict],
            "aria-pressed": String(mine?.verdict === verdict),
          })),
        ...this.#ofOthers(all, Boolean(mine), "span", ({ reader, verdict }) =>
          el("span", { class: "small other" }, isolated(reader), `: ${this.verdicts[verdict]?.toLowerCase()}`)));
    });
    const words = this.#all.filter(({ error, verdict, comment }) =>
      verdict === "missed" || (verdict === "comment" && error === null && comment));
    this.written.replaceChildren(
      ...words.filter((event) => event.verdict === "missed" && this.#isMine(event)).map((event) => this.#line(event)),
      ...this.#ofOthers(words, this.isReviewed, "li", (event) => this.#line(event)));
    if (pressed && this.cards.includes(card)) card.querySelector(`[data-verdict="${pressed}"]`)?.focus();
  }

  // What others wrote, drawn by `draw`; how many they are, until the reader has decided: whoever
  // has read another's verdict agrees with it more often.
  #ofOthers(events, hasDecided, tag, draw) {
    const others = events.filter((event) => !this.#isMine(event));
    if (hasDecided || !others.length) return others.map(draw);
    const n = new Set(others.map((event) => event.reader)).size;
    return [el(tag, { class: "small" }, `${count(n, "other review")}, hidden until you decide`)];
  }

  // Whether the reader has decided on each error of the study, or on it as a whole.
  get isReviewed() {
    const mine = this.#all.filter((event) => this.#isMine(event));
    return mine.some((event) => event.verdict === "comment" && event.error === null && event.comment)
      || (this.fingerprints.length > 0 && this.fingerprints.every((error) => mine.some((event) => event.error === error)));
  }

  // For another reader, with that reader's own comment; what was written before anybody gave a
  // name is of whoever gives it.
  redraw() {
    this.#draw();
    const { name } = this.view.reader;
    if (!this.comment || name === this.author) return;
    if (this.author || this.comment.value === this.shown) this.#showComment();
    this.author = name;
  }

  #showComment() {
    this.shown = this.#ownComment;
    this.comment.value = this.shown;
  }

  // A comment is sent once, though it is left by pressing the button that saves it.
  async #saveComment() {
    const { value } = this.comment;
    if ([this.shown, this.sending].includes(value)) return;
    this.sending = value;
    const isSaved = await this.#send({ error: null, verdict: "comment", comment: value });
    this.sending = null;
    if (!isSaved) return;
    this.shown = this.#ownComment;
    announce("Comment saved");
  }

  async judge(at, verdict) {
    const isOwn = (event) => event.error === this.fingerprints[at] && this.#isMine(event);
    if (verdict === "none" && !this.#all.some(isOwn)) return;
    if (!await this.#send({ error: this.fingerprints[at], verdict })) return;
    announce(`${capital(this.labels.noun.label)} ${at + 1}: ${verdict === "none" ? "verdict withdrawn" : this.verdicts[verdict]}`);
  }

  async #send(event) {
    const reader = await this.view.reader.known();
    if (!reader) return false;
    try {
      const body = { study_id: this.study.record.study_id, comment: "", ...event, reader };
      const saved = await ask(`${this.view.base}/reviews`, { method: "POST", body });
      // A missed error is withdrawn by its own id.
      for (const [key, { id }] of this.events) if (id === event.error) this.events.delete(key);
      this.events.set(keyOf(saved), saved);
    } catch (error) {
      alarm(error);
      return false;
    }
    this.view.reviewed();
    this.#draw();
    return true;
  }

  #line(event) {
    const { codes, grades } = this.labels;
    const { reader, comment, categories = [], level, text = "" } = event;
    if (event.verdict !== "missed") return el("li", {}, isolated(reader), ": ", isolated(comment));
    return el("li", {}, el("strong", {}, "Missed: "),
      categories.map((name) => `${codes?.labelOf.get(name)?.text ?? name} `),
      level ? `[${grades?.labelOf.get(level)?.label ?? level}] ` : "", isolated(text), el("span", { class: "small" }, " ", isolated(reader)),
      this.#isMine(event) ? button("Withdraw", () => this.#send({ error: event.id, verdict: "none" }), { class: "quiet" }) : "");
  }

  // What a reader has to write of the study as a whole.
  ofStudy() {
    if (!this.comment) {
      this.comment = el("textarea", {
        id: "comment", rows: "2", maxlength: "5000", "aria-keyshortcuts": "Shift+C", on: { change: () => this.#saveComment() },
      });
      this.author = this.view.reader.name;
      this.#showComment();
    }
    return el("section", { class: "part review" }, el("h3", {}, "Your review"), this.written, this.#missedForm(),
      el("label", { for: "comment" }, "Comment on this study"), this.comment,
      el("p", {}, button("Save comment", () => this.#saveComment(), { class: "main" })));
  }

  #missedForm() {
    const { codes, grades } = this.labels;
    const text = el("textarea", { id: "missed-text", rows: "2", maxlength: "5000" });
    const choice = (id, facet) => facet && el("select", { id },
      facet.labels.map(({ name, text: label }) => el("option", { value: name }, label)));
    const [code, grade] = [choice("missed-category", codes), choice("missed-level", grades)];
    const add = async () => {
      const event = { error: null, verdict: "missed", text: text.value, categories: code ? [code.value] : [], level: grade?.value ?? null };
      if (!text.value.trim()) text.focus();
      else if (await this.#send(event)) {
        text.value = "";
        this.form.open = false;
        announce("Missed error added");
        this.form.querySelector("summary").focus();
      }
    };
    const labelled = (field, label) => (field ? [el("label", { for: field.id }, capital(label)), field] : null);
    this.form = el("details", { id: "missed" },
      el("summary", { "aria-keyshortcuts": "Shift+M" }, "Add an error that the judge missed"),
      labelled(text, "What was missed"), labelled(code, codes?.label), labelled(grade, grades?.label),
      el("p", {}, button("Add", add, { class: "main" })));
    return this.form;
  }

  openMissed() {
    this.form.open = true;
    this.form.querySelector("textarea").focus();
  }

  get #ownComment() {
    return this.#all.find((event) => event.verdict === "comment" && event.error === null && this.#isMine(event))?.comment ?? "";
  }
}

// A reader's later verdict on the same error replaces the earlier one; each missed error is its own.
function keyOf(event) {
  if (event.verdict === "missed") return `missed ${event.id}`;
  return JSON.stringify([event.reader, event.error, event.error === null ? event.verdict : ""]);
}
