// A reader's verdicts on a study: right, wrong, wrong severity, missed errors, a comment.

import { alarm, announce, el, said } from "./dom.js";
import { capital } from "./words.js";

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
    this.parts = {};
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
    const mine = all.find((event) => event.reader === this.app.reader.name);
    const press = (verdict) => () => this.judge(at, mine?.verdict === verdict ? "none" : verdict);
    this.cards[at].replaceChildren(
      ...VERDICTS.map(({ verdict, text, key }) => el("button", {
        type: "button", class: "verdict", "data-verdict": verdict, "aria-pressed": String(mine?.verdict === verdict),
        "aria-keyshortcuts": key, on: { click: press(verdict) },
      }, text)),
      ...all.filter((event) => event !== mine).map((event) => el("span", { class: "small other" },
        said(event.reader), `: ${event.verdict.replace("_", " ")}`)));
  }

  async judge(at, verdict) {
    const kept = await this.send({ error: this.study.fingerprints[at], verdict });
    if (!kept) return;
    // The buttons are drawn anew; whoever pressed one by keyboard stays on it.
    const pressed = this.cards[at].contains(document.activeElement) ? document.activeElement.dataset.verdict : null;
    this.drawError(at);
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
    this.parts.missed = el("div", {});
    this.parts.comment = el("div", {});
    this.drawMissed();
    this.drawComment();
    return el("section", { class: "part review" }, el("h3", {}, "Your review"), this.parts.missed, this.parts.comment);
  }

  drawMissed() {
    const { labels } = this.study;
    const missed = [...this.events.values()].filter((event) => event.verdict === "missed");
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
        this.drawMissed();
        announce("Missed error added");
        this.parts.missed.querySelector("summary").focus();
      }
    };
    const withdraw = async (event) => {
      if (await this.send({ error: event.id, verdict: "none" })) {
        this.events.delete(keyOf(event));
        this.drawMissed();
        this.parts.missed.querySelector("summary").focus();
      }
    };
    this.parts.missed.replaceChildren(
      el("ul", { class: "missed" }, missed.map((event) => el("li", {},
        el("strong", {}, "Missed: "), (event.categories ?? []).map((name) => `${labels.codes?.labelOf.get(name)?.text ?? name} `),
        event.level ? `[${labels.grades?.labelOf.get(event.level)?.label ?? event.level}] ` : "", said(event.text ?? ""),
        el("span", { class: "small" }, " ", said(event.reader)),
        event.reader === this.app.reader.name
          ? el("button", { type: "button", class: "quiet", on: { click: () => withdraw(event) } }, "Withdraw") : null))),
      el("details", { id: "missed" }, el("summary", { "aria-keyshortcuts": "m" }, "Add an error that the judge missed"),
        el("label", { for: "missed-text" }, "What was missed"), text,
        ...(code ? [el("label", { for: "missed-category" }, capital(labels.codes.label)), code] : []),
        ...(grade ? [el("label", { for: "missed-level" }, capital(labels.grades.label)), grade] : []),
        el("p", {}, el("button", { type: "button", class: "main", on: { click: add } }, "Add"))));
  }

  drawComment() {
    const all = [...this.events.values()].filter((event) => event.verdict === "comment" && event.error === null);
    const mine = all.find((event) => event.reader === this.app.reader.name);
    const text = el("textarea", { id: "comment", rows: "2", maxlength: "5000", "aria-keyshortcuts": "c", value: mine?.comment ?? "" });
    const save = async () => {
      if (await this.send({ error: null, verdict: "comment", comment: text.value })) announce("Comment kept");
    };
    this.parts.comment.replaceChildren(
      ...all.filter((event) => event !== mine && event.comment).map((event) =>
        el("p", {}, said(event.reader), ": ", said(event.comment))),
      el("label", { for: "comment" }, "Comment on this study"), text,
      el("p", {}, el("button", { type: "button", class: "main", on: { click: save } }, "Keep the comment")));
  }
}

// A reader's later verdict on the same error replaces the earlier one; each missed error is its own.
function keyOf(event) {
  if (event.verdict === "missed") return `missed ${event.id}`;
  return JSON.stringify([event.reader, event.error, event.error === null ? event.verdict : ""]);
}
