// A reader's verdicts on a study: right, wrong, wrong severity, missed errors, a comment.

import { alarm, announce, el, said } from "./dom.js";
import { capital, count } from "./words.js";

const VERDICTS = [
  { verdict: "right", text: "Right", key: "a" },
  { verdict: "wrong", text: "Wrong", key: "d" },
  { verdict: "wrong_severity", text: "Wrong severity", key: "s" },
];

export class Review {
  constructor(study, app) {
    this.study = study;
    this.app = app;
    this.events = new Map((study.reviews ?? []).map((event) => [keyOf(event), event]));
    this.cards = [];
  }

  item(at) {
    const box = el("div", { class: "verdicts", role: "group", "aria-label": `Your verdict on ${this.study.labels.noun.label} ${at + 1}` });
    this.cards[at] = box;
    this.drawError(at);
    return box;
  }

  drawError(at) {
    const fingerprint = this.study.fingerprints[at];
    const all = [...this.events.values()].filter((event) => event.error === fingerprint && event.verdict !== "none");
    const mine = all.find((event) => event.reader === this.me);
    const press = (verdict) => () => this.judge(at, mine?.verdict === verdict ? "none" : verdict);
    this.cards[at].replaceChildren(
      ...VERDICTS.map(({ verdict, text, key }) => el("button", {
        type: "button", class: "verdict", "data-verdict": verdict, "aria-pressed": String(mine?.verdict === verdict),
        "aria-keyshortcuts": key, on: { click: press(verdict) },
      }, text)),
      ...this.ofOthers(all, Boolean(mine), (event) => el("span", { class: "small other" },
        said(event.reader), `: ${event.verdict.replace("_", " ")}`)));
  }

  get me() {
    return this.app.reader.name;
  }

  // What others said, drawn by `shown`; how many they are, until the reader has spoken: whoever
  // has read another's verdict agrees with it more often.
  ofOthers(events, hasSpoken, shown) {
    const others = events.filter((event) => event.reader !== this.me);
    if (hasSpoken || !others.length) return others.map(shown);
    const n = new Set(others.map((event) => event.reader)).size;
    return [el("span", { class: "small hidden-verdicts" },
      `${count(n, "other has", "others have")} said something; shown after yours`)];
  }

  // Whether the reader has spoken of the study: of each of its errors, or of it as a whole.
  get isReviewed() {
    const mine = [...this.events.values()].filter((event) => event.reader === this.me && event.verdict !== "none");
    const { fingerprints } = this.study;
    return mine.some((event) => event.verdict === "missed" || (event.error === null && event.comment))
      || (fingerprints.length > 0 && fingerprints.every((one) => mine.some((event) => event.error === one)));
  }

  // Draws what others said and what is one's own anew, for another reader.
  redraw() {
    this.cards.forEach((_, at) => this.drawError(at));
    this.drawSaid();
    this.comment.value ||= this.ownComment?.comment ?? "";
  }

  async judge(at, verdict) {
    const kept = await this.send({ error: this.study.fingerprints[at], verdict });
    if (!kept) return;
    // The buttons are drawn anew; whoever pressed one by keyboard stays on it.
    const pressed = this.cards[at].contains(document.activeElement) ? document.activeElement.dataset.verdict : null;
    this.drawError(at);
    this.drawSaid();
    if (pressed) this.cards[at].querySelector(`[data-verdict="${pressed}"]`)?.focus();
    const word = verdict === "none" ? "verdict withdrawn" : verdict.replace("_", " ");
    announce(`${capital(this.study.labels.noun.label)} ${at + 1}: ${word}`);
  }

  async send(event) {
    const reader = await this.app.reader.known();
    if (!reader) return null;
    try {
      const kept = await this.app.store.review({ study_id: this.study.view.study_id, comment: "", ...event, reader });
      this.events.set(keyOf(kept), kept);
      this.app.reviewed();
      return kept;
    } catch (error) {
      alarm(error);
      return null;
    }
  }

  // What a reader has to say of the study as a whole.
  ofStudy() {
    this.said = el("ul", { class: "missed" });
    const section = el("section", { class: "part review" }, el("h3", {}, "Your review"), this.said,
      this.missedForm(), ...this.commentForm());
    this.drawSaid();
    return section;
  }

  // The missed errors that were added, and what others wrote.
  drawSaid() {
    const all = [...this.events.values()];
    const missed = (event) => event.verdict === "missed";
    const written = (event) => event.verdict === "comment" && event.error === null && event.comment;
    const shown = (event) => el("li", {}, missed(event) ? this.missed(event) : [said(event.reader), ": ", said(event.comment)]);
    this.said.replaceChildren(
      ...all.filter((event) => missed(event) && event.reader === this.me).map(shown),
      ...this.ofOthers(all.filter((event) => missed(event) || written(event)), this.isReviewed, shown)
        .map((one) => (one.matches("li") ? one : el("li", {}, one))));
  }

  missed(event) {
    const { labels } = this.study;
    const withdraw = async () => {
      if (await this.send({ error: event.id, verdict: "none" })) {
        this.events.delete(keyOf(event));
        this.drawSaid();
        this.form.querySelector("summary").focus();
      }
    };
    return [
      el("strong", {}, "Missed: "), (event.categories ?? []).map((name) => `${labels.codes?.labelOf.get(name)?.text ?? name} `),
      event.level ? `[${labels.grades?.labelOf.get(event.level)?.label ?? event.level}] ` : "", said(event.text ?? ""),
      el("span", { class: "small" }, " ", said(event.reader)),
      event.reader === this.me
        ? el("button", { type: "button", class: "quiet", on: { click: withdraw } }, "Withdraw") : "",
    ];
  }

  missedForm() {
    const { labels } = this.study;
    const text = el("textarea", { id: "missed-text", rows: "2", maxlength: "5000" });
    const choice = (id, facet) => facet && el("select", { id },
      facet.labels.map(({ name, text: shown }) => el("option", { value: name }, shown)));
    const code = choice("missed-category", labels.codes);
    const grade = choice("missed-level", labels.grades);
    const add = async () => {
      if (!text.value.trim()) {
        text.focus();
        return;
      }
      const event = { error: null, verdict: "missed", text: text.value, categories: code ? [code.value] : [], level: grade?.value ?? null };
      if (await this.send(event)) {
        text.value = "";
        this.form.open = false;
        this.drawSaid();
        announce("Missed error added");
        this.form.querySelector("summary").focus();
      }
    };
    this.form = el("details", { id: "missed" }, el("summary", { "aria-keyshortcuts": "m" }, "Add an error that the judge missed"),
      el("label", { for: "missed-text" }, "What was missed"), text,
      ...(code ? [el("label", { for: "missed-category" }, capital(labels.codes.label)), code] : []),
      ...(grade ? [el("label", { for: "missed-level" }, capital(labels.grades.label)), grade] : []),
      el("p", {}, el("button", { type: "button", class: "main", on: { click: add } }, "Add")));
    return this.form;
  }

  get ownComment() {
    return [...this.events.values()].find((event) => event.verdict === "comment" && event.error === null && event.reader === this.me);
  }

  commentForm() {
    this.comment = el("textarea", { id: "comment", rows: "2", maxlength: "5000", "aria-keyshortcuts": "c", value: this.ownComment?.comment ?? "" });
    const save = async () => {
      if (!await this.send({ error: null, verdict: "comment", comment: this.comment.value })) return;
      this.drawSaid();
      announce("Comment kept");
    };
    return [el("label", { for: "comment" }, "Comment on this study"), this.comment,
      el("p", {}, el("button", { type: "button", class: "main", on: { click: save } }, "Keep the comment"))];
  }
}

// A reader's later verdict on the same error replaces the earlier one; each missed error is its own.
function keyOf(event) {
  if (event.verdict === "missed") return `missed ${event.id}`;
  return JSON.stringify([event.reader, event.error, event.error === null ? event.verdict : ""]);
}
