// Starts the page: which data, which view, and how they follow the address.

import { alarm, begin, el, frame, newest, said } from "./dom.js";
import { Keys } from "./keys.js";
import { Columns } from "./columns.js";
import { drawList, filterForm, studiesSection } from "./list.js";
import { openStore } from "./store.js";
import { overviewSection, readersSection } from "./overview.js";
import { Reader } from "./reader.js";
import { Review } from "./review.js";
import { runsPage } from "./runs.js";
import { focusError } from "./items.js";
import { studySection } from "./study.js";
import { fileTransport, serviceTransport } from "./transports.js";
import { labels } from "./words.js";

class App {
  constructor(store, reader) {
    this.store = store;
    this.view = store.view;
    this.labels = labels(store.view);
    this.reader = reader;
    this.query = new URLSearchParams();
    this.study = null;
    this.stale = true;
  }

  start() {
    this.query = this.fromAddress().query;
    this.form = el("div", {});
    this.columns = new Columns(this.view, () => drawList(this).catch(alarm));
    this.home = el("div", {}, overviewSection(this.store, this.labels), studiesSection(this.form, this.columns));
    this.open = el("div", { hidden: true });
    frame(this.header(), el("main", { id: "main" }, this.home, this.open),
      el("footer", {}, el("p", { class: "mono small" }, said(this.view.signature))));
    this.drawForm();
    this.drawReaders();
    document.title = this.view.title;
    window.addEventListener("hashchange", () => this.route().catch(alarm));
    document.addEventListener("reader", (event) => {
      this.drawReader(event.detail);
      this.review?.redraw();
    });
    this.keys = new Keys(this.actions());
    return this.route();
  }

  header() {
    const { judge, title } = this.view;
    this.who = el("span", { class: "small" });
    this.drawReader(this.reader?.name);
    return el("header", { class: "top" },
      el("h1", {}, said(title)),
      this.store.canReview ? el("a", { href: "/" }, "All runs") : null,
      this.store.canReview ? el("a", { href: this.store.reading }, "Read blind") : null,
      this.who,
      el("button", { type: "button", class: "quiet", "aria-keyshortcuts": "?", on: { click: () => this.keys.help() } }, "Keys"),
      judge.note ? el("p", { class: "note", role: "note" }, said(judge.note)) : null);
  }

  drawReader(name) {
    if (!this.store.canReview) return;
    this.who.replaceChildren(
      name ? el("span", {}, "Reviewing as ", said(name), " ") : "",
      el("button", { type: "button", class: "quiet", on: { click: () => this.reader.ask() } }, name ? "Change" : "Who is reviewing?"));
  }

  drawForm() {
    this.form.replaceChildren(filterForm(this.store, this.labels, this.query, () => this.changed()));
    const search = this.form.querySelector("#filter-q");
    search.addEventListener("focus", () => this.store.prepareSearch(), { once: true });
  }

  drawReaders() {
    if (!this.store.canReview) return;
    document.getElementById("readers").replaceChildren(
      readersSection(this.store.statistics, this.labels, this.store.reviewsFile));
  }

  fromAddress() {
    const query = new URLSearchParams(location.hash.slice(1));
    const study = query.get("study");
    query.delete("study");
    const unknown = this.store.unknown(query);
    unknown.forEach((name) => query.delete(name));
    return { query, study, unknown };
  }

  addressOf(studyId) {
    const all = new URLSearchParams(this.query);
    if (studyId !== null) all.set("study", studyId);
    return `#${all}`;
  }

  changed = () => {
    history.replaceState(null, "", this.addressOf(null));
    this.stale = true;
    return drawList(this).then(() => { this.stale = false; }).catch(alarm);
  };

  reset = () => {
    this.query = new URLSearchParams();
    this.drawForm();
    this.form.querySelector("#filter-q").focus();
    return this.changed();
  };

  // A verdict was kept: numbers that rest on it are asked for again when they are next seen.
  reviewed() {
    this.stale = true;
    this.readersStale = true;
  }

  async route() {
    const { query, study, unknown } = this.fromAddress();
    if (unknown.length) {
      alarm(new Error(`The address asks for what this run does not have: ${unknown.join(", ")}. The rest of it is shown.`));
    }
    if (query.toString() !== this.query.toString()) {
      this.query = query;
      this.drawForm();
      this.stale = true;
    }
    if (study !== null) {
      try {
        await this.show({ id: study });
        return;
      } catch (error) {
        alarm(error);
        history.replaceState(null, "", this.addressOf(null));
      }
    }
    this.study = null;
    this.open.hidden = true;
    this.open.replaceChildren();
    this.home.hidden = false;
    if (this.readersStale) {
      await this.store.readReviews();
      this.readersStale = false;
      this.drawReaders();
    }
    if (this.stale) {
      await drawList(this);
      this.stale = false;
    }
    if (this.back) {
      const link = [...this.home.querySelectorAll("tbody a")].find((one) => one.textContent === this.back);
      (link ?? document.getElementById("studies-title")).focus();
    }
  }

  async show(which) {
    const found = await newest(this, "opening", this.store.study(which, this.query));
    if (!found) return;
    this.study = { ...found, labels: this.labels };
    this.back = found.view.study_id;
    const review = this.store.canReview ? new Review(this.study, this) : null;
    this.review = review;
    this.home.hidden = true;
    this.open.hidden = false;
    this.open.replaceChildren(studySection(this.study, this, review));
    window.scrollTo(0, 0);
    document.getElementById("study-title").focus({ preventScroll: true });
  }

  async step(row) {
    if (row === null || row === undefined) return;
    await this.show({ row });
    history.replaceState(null, "", this.addressOf(this.study.view.study_id));
  }

  // The error that the keyboard is on: the one with the focus in it.
  at() {
    const card = document.activeElement?.closest?.(".error");
    return card ? Number(card.id.slice("error-".length)) : -1;
  }

  move(by) {
    const n = this.study?.view.items.length ?? 0;
    if (!n) return;
    const at = this.at();
    focusError(this.open, at < 0 ? (by > 0 ? 0 : n - 1) : Math.min(n - 1, Math.max(0, at + by)));
  }

  verdict(word) {
    if (!this.review || !this.study.view.items.length) return;
    // With one error there is no doubt which is meant; the first, when none is chosen yet.
    const at = Math.max(0, this.at());
    if (this.at() < 0) focusError(this.open, at);
    this.review.judge(at, word).catch(alarm);
  }

  actions() {
    const inStudy = (act) => () => (this.study ? act() : false);
    const steps = [
      { keys: "n", text: "next study", act: inStudy(() => this.step(this.study.next).catch(alarm)) },
      { keys: "p", text: "previous study", act: inStudy(() => this.step(this.study.previous).catch(alarm)) },
      { keys: "j ArrowDown", text: "next error", act: inStudy(() => this.move(1)) },
      { keys: "k ArrowUp", text: "previous error", act: inStudy(() => this.move(-1)) },
    ];
    const reviewing = !this.store.canReview ? [] : [
      { keys: "a", text: "agree: the error is right", act: inStudy(() => this.verdict("right")) },
      { keys: "d", text: "disagree: the error is wrong", act: inStudy(() => this.verdict("wrong")) },
      { keys: "s", text: "right, but the wrong severity", act: inStudy(() => this.verdict("wrong_severity")) },
      { keys: "u", text: "withdraw the verdict", act: inStudy(() => this.verdict("none")) },
      { keys: "m", text: "add an error that was missed", act: inStudy(() => this.toMissed()) },
      { keys: "c", text: "comment on the study", act: inStudy(() => document.getElementById("comment").focus()) },
    ];
    return [
      ...steps,
      ...reviewing,
      { keys: "r", text: "raw answer", act: inStudy(() => this.toggleAnswer()) },
      { keys: "/", text: "search", act: () => (this.study ? false : this.form.querySelector("#filter-q").focus()) },
      { keys: "Escape", text: "leave a field, back to all studies", act: inStudy(() => { location.hash = this.addressOf(null); }) },
      { keys: "?", text: "this help", act: () => this.keys.help() },
    ];
  }

  toMissed() {
    const details = document.getElementById("missed");
    details.open = true;
    details.querySelector("textarea").focus();
  }

  toggleAnswer() {
    const details = this.open.querySelector("details.answer");
    details.open = !details.open;
    if (details.open) details.scrollIntoView({ block: "nearest" });
  }
}

begin(async () => {
  const { mode, run, reader } = document.documentElement.dataset;
  if (mode !== "file" && !run) await runsPage();
  else {
    const store = await openStore(mode === "file" ? fileTransport() : serviceTransport(run));
    await new App(store, store.canReview ? new Reader(reader, "Who is reviewing?", "verdict") : null).start();
    // The search is made ready while nobody waits for it.
    setTimeout(store.prepareSearch);
  }
});
