// A reader's verdicts on a study: right, wrong, wrong severity, missed errors, a comment.

import { alarm, announce, button, el, isolated } from "./dom.js";
import { ask } from "./load.js";
import { capital, count } from "./words.js";

const KEYS = { right: "Shift+A", wrong: "Shift+D", wrong_severity: "Shift+S" };

export class Review {
  // `study` has its `record`, the `fingerprints` of its errors, the `reviews` so far and the
  // `labels` of its rubric; `view` knows the reader and is told when something was recorded.
  constructor(study, view) {
    Object.assign(this, { study, view, cards: [] });
    this.events = new Map((study.reviews ?? []).map((event) => [keyOf(event), event]));
    const { grades } = study.labels;
    this.verdicts = { right: "Right", wrong: "Wrong", ...(grades ? { wrong_severity: `Wrong ${grades.label}` } : {}) };
  }

  item(at) {
    this.cards[at] = el("div", { class: "verdicts", role: "group", "aria-label": `Your verdict on ${this.study.labels.noun.label} ${at + 1}` });
    this.#drawItem(at);
    return this.cards[at];
  }

  #drawItem(at) {
    const all = [...this.events.values()].filter((event) => event.error === this.study.fingerprints[at] && event.verdict !== "none");
    const mine = all.find((event) => event.reader === this.me);
    this.cards[at].replaceChildren(
      ...Object.entries(this.verdicts).map(([verdict, text]) =>
        button(text, () => this.judge(at, mine?.verdict === verdict ? "none" : verdict), {
          class: "verdict", "data-verdict": verdict, "aria-pressed": String(mine?.verdict === verdict), "aria-keyshortcuts": KEYS[verdict],
        })),
      ...this.#ofOthers(all, Boolean(mine), (event) => el("span", { class: "small other" },
        isolated(event.reader), `: ${this.verdicts[event.verdict]?.toLowerCase()}`)));
  }

  get me() {
    return this.view.reader.name;
  }

  // What others wrote, drawn by `draw`; how many they are, until the reader has decided: whoever
  // has read another's verdict agrees with it more often.
  #ofOthers(events, hasDecided, draw) {
    const others = events.filter((event) => event.reader !== this.me);
    if (hasDecided || !others.length) return others.map(draw);
    const n = new Set(others.map((event) => event.reader)).size;
    return [el("span", { class: "small hidden-verdicts" }, `${count(n, "other review")}, hidden until you decide`)];
  }

  // Whether the reader has decided on each error of the study, or on it as a whole.
  get isReviewed() {
    const mine = [...this.events.values()].filter((event) => event.reader === this.me && event.verdict !== "none");
    const { fingerprints } = this.study;
    return mine.some((event) => event.verdict === "missed" || (event.error === null && event.comment))
      || (fingerprints.length > 0 && fingerprints.every((error) => mine.some((event) => event.error === error)));
  }

  // Draws it anew, for another reader.
  redraw() {
    this.cards.forEach((_, at) => this.#drawItem(at));
    this.#drawWritten();
    this.comment.value ||= this.#ownComment?.comment ?? "";
  }

  async judge(at, verdict) {
    if (!await this.#send({ error: this.study.fingerprints[at], verdict })) return;
    // The buttons are drawn anew; whoever pressed one by keyboard stays on it.
    const pressed = this.cards[at].contains(document.activeElement) ? document.activeElement.dataset.verdict : null;
    this.#drawItem(at);
    this.#drawWritten();
    if (pressed) this.cards[at].querySelector(`[data-verdict="${pressed}"]`)?.focus();
    announce(`${capital(this.study.labels.noun.label)} ${at + 1}: ${verdict === "none" ? "verdict withdrawn" : this.verdicts[verdict]}`);
  }

  async #send(event) {
    const reader = await this.view.reader.known();
    if (!reader) return null;
    try {
      const body = { study_id: this.study.record.study_id, comment: "", ...event, reader };
      const saved = await ask(`${this.view.base}/reviews`, { method: "POST", body });
      this.events.set(keyOf(saved), saved);
      this.view.reviewed();
      return saved;
    } catch (error) {
      alarm(error);
      return null;
    }
  }

  // What a reader has to write of the study as a whole.
  ofStudy() {
    this.written = el("ul", { class: "missed" });
    const section = el("section", { class: "part review" }, el("h3", {}, "Your review"), this.written,
      this.#missedForm(), this.#commentForm());
    this.#drawWritten();
    return section;
  }

  // The missed errors that were added, and what others wrote.
  #drawWritten() {
    const all = [...this.events.values()];
    const isMissed = (event) => event.verdict === "missed";
    const isComment = (event) => event.verdict === "comment" && event.error === null && event.comment;
    const draw = (event) => el("li", {}, isMissed(event) ? this.#missed(event) : [isolated(event.reader), ": ", isolated(event.comment)]);
    this.written.replaceChildren(
      ...all.filter((event) => isMissed(event) && event.reader === this.me).map(draw),
      ...this.#ofOthers(all.filter((event) => isMissed(event) || isComment(event)), this.isReviewed, draw)
        .map((item) => (item.matches("li") ? item : el("li", {}, item))));
  }

  #missed(event) {
    const { labels } = this.study;
    const withdraw = async () => {
      if (await this.#send({ error: event.id, verdict: "none" })) {
        this.events.delete(keyOf(event));
        this.#drawWritten();
        this.form.querySelector("summary").focus();
      }
    };
    return [
      el("strong", {}, "Missed: "), (event.categories ?? []).map((name) => `${labels.codes?.labelOf.get(name)?.text ?? name} `),
      event.level ? `[${labels.grades?.labelOf.get(event.level)?.label ?? event.level}] ` : "", isolated(event.text ?? ""),
      el("span", { class: "small" }, " ", isolated(event.reader)),
      event.reader === this.me ? button("Withdraw", withdraw, { class: "quiet" }) : "",
    ];
  }

  #missedForm() {
    const { codes, grades } = this.study.labels;
    const text = el("textarea", { id: "missed-text", rows: "2", maxlength: "5000" });
    const choice = (id, facet) => facet && el("select", { id },
      facet.labels.map(({ name, text: label }) => el("option", { value: name }, label)));
    const code = choice("missed-category", codes);
    const grade = choice("missed-level", grades);
    const add = async () => {
      if (!text.value.trim()) {
        text.focus();
        return;
      }
      const event = { error: null, verdict: "missed", text: text.value, categories: code ? [code.value] : [], level: grade?.value ?? null };
      if (await this.#send(event)) {
        text.value = "";
        this.form.open = false;
        this.#drawWritten();
        announce("Missed error added");
        this.form.querySelector("summary").focus();
      }
    };
    this.form = el("details", { id: "missed" }, el("summary", { "aria-keyshortcuts": "Shift+M" }, "Add an error that the judge missed"),
      el("label", { for: "missed-text" }, "What was missed"), text,
      code ? [el("label", { for: "missed-category" }, capital(codes.label)), code] : [],
      grade ? [el("label", { for: "missed-level" }, capital(grades.label)), grade] : [],
      el("p", {}, button("Add", add, { class: "main" })));
    return this.form;
  }

  openMissed() {
    this.form.open = true;
    this.form.querySelector("textarea").focus();
  }

  get #ownComment() {
    return [...this.events.values()].find((event) => event.verdict === "comment" && event.error === null && event.reader === this.me);
  }

  #commentForm() {
    this.comment = el("textarea", { id: "comment", rows: "2", maxlength: "5000", "aria-keyshortcuts": "Shift+C", value: this.#ownComment?.comment ?? "" });
    const save = async () => {
      if (!await this.#send({ error: null, verdict: "comment", comment: this.comment.value })) return;
      this.#drawWritten();
      announce("Comment saved");
    };
    return [el("label", { for: "comment" }, "Comment on this study"), this.comment,
      el("p", {}, button("Save comment", save, { class: "main" }))];
  }
}

// A reader's later verdict on the same error replaces the earlier one; each missed error is its own.
function keyOf(event) {
  if (event.verdict === "missed") return `missed ${event.id}`;
  return JSON.stringify([event.reader, event.error, event.error === null ? event.verdict : ""]);
}
