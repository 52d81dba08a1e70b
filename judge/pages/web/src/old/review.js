// A reader's verdicts on a study: right, wrong, wrong severity, missed errors, a comment.

import { announce, button, el, isolated, option, redraw } from "./dom.js";
import { capital, count } from "./format.js";
import { ask } from "./load.js";

const KEYS = { right: "Shift+A", wrong: "Shift+D", wrong_severity: "Shift+S" };

export class Review {
  constructor({ record, reviews, stale, fingerprints, labels }, view) {
    this.studyId = record.study_id;
    this.view = view;
    this.fingerprints = fingerprints;
    this.labels = labels;
    this.stale = stale ?? [];
    this.events = new Map((reviews ?? []).map((event) => [keyOf(event), event]));
    this.verdicts = { right: "Right", wrong: "Wrong", ...(labels.grades ? { wrong_severity: `Wrong ${labels.grades.label}` } : {}) };
    this.cards = fingerprints.map((_, at) =>
      el("div", { class: "tools", role: "group", "aria-label": `Your verdict on ${labels.noun.label} ${at + 1}` }));
    this.written = el("ul", { class: "missed" });
    const change = async () => {
      if (await this.#send({ error: null, verdict: "comment", comment: this.comment.value })) announce("Comment saved");
    };
    this.comment = el("textarea", { id: "comment", rows: "2", maxlength: "5000", on: { change } });
    this.redraw();
  }

  get #all() {
    return [...this.events.values()].filter(({ verdict }) => verdict !== "none");
  }

  #isMine(event) {
    return event.reader === this.view.reader.name;
  }

  // The verdicts below each error, the missed errors that were added, and the words of others.
  #draw() {
    this.fingerprints.forEach((error, at) => {
      const all = this.#all.filter((event) => event.error === error);
      const mine = all.find((event) => this.#isMine(event))?.verdict;
      redraw(this.cards[at],
        Object.entries(this.verdicts).map(([verdict, text]) => button(text, () => this.judge(at, verdict), {
          "data-act": verdict, "aria-keyshortcuts": KEYS[verdict], "aria-pressed": String(mine === verdict),
        })),
        this.#ofOthers(all, Boolean(mine), "span", ({ reader, verdict }) =>
          el("span", { class: "small" }, isolated(reader), `: ${this.verdicts[verdict]?.toLowerCase()}`)));
    });
    const words = this.#all.filter((event) => event.verdict === "missed" || (isComment(event) && event.comment));
    this.written.replaceChildren(
      ...this.stale.filter(({ reader }) => reader === this.view.reader.name).map(({ text }) => el("li", {}, isolated(text))),
      ...words.filter((event) => event.verdict === "missed" && this.#isMine(event)).map((event) => this.#line(event)),
      ...this.#ofOthers(words, this.isReviewed, "li", (event) => this.#line(event)));
  }

  // The events of others, or their number until the reader has decided: a reader who has read
  // another's verdict agrees with it more often.
  #ofOthers(events, hasDecided, tag, draw) {
    const others = events.filter((event) => !this.#isMine(event));
    if (hasDecided || !others.length) return others.map(draw);
    const n = new Set(others.map((event) => event.reader)).size;
    return [el(tag, { class: "small" }, `${count(n, "other review")}, hidden until you decide`)];
  }

  // Whether the reader has decided on each error of the study, or commented on it as a whole.
  get isReviewed() {
    const mine = this.#all.filter((event) => this.#isMine(event));
    return mine.some((event) => isComment(event) && event.comment)
      || (this.fingerprints.length > 0 && this.fingerprints.every((error) => mine.some((event) => event.error === error)));
  }

  // For the reader of now, with that reader's own comment; words of which nothing is saved stay.
  redraw() {
    this.#draw();
    const saved = this.#all.find((event) => isComment(event) && this.#isMine(event))?.comment ?? "";
    if (this.author || saved || !this.comment.value) this.comment.value = saved;
    this.author = this.view.reader.name;
  }

  // Records a verdict; one that is there already is withdrawn.
  async judge(at, verdict) {
    const error = this.fingerprints[at];
    const isThere = this.#all.some((event) => event.error === error && event.verdict === verdict && this.#isMine(event));
    if (!await this.#send({ error, verdict: isThere ? "none" : verdict })) return;
    announce(`${capital(this.labels.noun.label)} ${at + 1}: ${isThere ? "verdict withdrawn" : this.verdicts[verdict]}`);
  }

  async #send(event) {
    const reader = await this.view.reader.known();
    if (!reader) return false;
    const body = { study_id: this.studyId, comment: "", ...event, reader };
    const saved = await ask(`${this.view.base}/reviews`, { method: "POST", body });
    // A missed error is withdrawn by its own id.
    for (const [key, { id }] of this.events) if (id === event.error) this.events.delete(key);
    this.events.set(keyOf(saved), saved);
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

  // The part of the review on the study as a whole.
  ofStudy() {
    return el("section", { class: "part review" }, el("h3", {}, "Your review"), this.written, this.#missedForm(),
      el("label", { for: "comment" }, "Comment on this study, saved when you leave the field"), this.comment);
  }

  #missedForm() {
    const { codes, grades } = this.labels;
    const text = el("textarea", { id: "missed-text", rows: "2", maxlength: "5000" });
    const select = (id, facet) => facet && el("select", { id }, facet.labels.map(({ name, text: label }) => option(name, label)));
    const [code, grade] = [select("missed-category", codes), select("missed-level", grades)];
    const add = async () => {
      const event = { error: null, verdict: "missed", text: text.value, categories: code ? [code.value] : [], level: grade?.value ?? null };
      if (!text.value.trim()) text.focus();
      else if (await this.#send(event)) {
        text.value = "";
        announce("Missed error added");
      }
    };
    const labelled = (field, label) => (field ? [el("label", { for: field.id }, capital(label)), field] : null);
    return el("details", {}, el("summary", {}, "Add an error that the judge missed"),
      labelled(text, "What was missed"), labelled(code, codes?.label), labelled(grade, grades?.label),
      el("p", {}, button("Add", add, { class: "main" })));
  }
}

const isComment = ({ verdict, error }) => verdict === "comment" && error === null;

// A reader's later verdict on the same error replaces the earlier one; each missed error is separate.
function keyOf(event) {
  if (event.verdict === "missed") return `missed ${event.id}`;
  return JSON.stringify([event.reader, event.error, event.error === null ? event.verdict : ""]);
}
