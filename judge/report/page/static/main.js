// Starts the page: which data, which view, and how they follow the address.

import { alarm, el, frame, said } from "./dom.js";
import { embedded } from "./embedded.js";
import { filterForm } from "./filters.js";
import { Keys } from "./keys.js";
import { drawList, studiesSection } from "./list.js";
import { overviewSection, readersSection } from "./overview.js";
import { Reader, Review } from "./review.js";
import { runsPage } from "./runs.js";
import { service } from "./service.js";
import { focusError, studySection } from "./study.js";
import { labels } from "./words.js";

class App {
  constructor(source, { view, reviews }, reader) {
    this.source = source;
    this.view = view;
    this.statistics = reviews;
    this.labels = labels(view);
    this.reader = reader;
    this.query = new URLSearchParams();
    this.study = null;
    this.stale = true;
  }

  start() {
    // A service links to a study with ?study=; from then on the part after # says what is open.
    const asked = new URLSearchParams(location.search).get("study");
    if (asked !== null && location.protocol !== "file:") {
      history.replaceState(null, "", location.pathname + (location.hash || this.addressOf(asked)));
    }
    this.query = this.fromAddress().query;
    this.form = el("div", {});
    this.home = el("div", {}, this.overviewPart(), studiesSection(this.view, this.labels, this.query, this.form));
    this.open = el("div", { hidden: true });
    frame(this.header(), el("main", { id: "main" }, this.home, this.open), this.footer());
    this.drawForm();
    this.drawReaders();
    document.title = `${this.view.rubric.title} of ${this.view.judge.name}`;
    window.addEventListener("hashchange", () => this.route().catch(alarm));
    document.addEventListener("reader", (event) => this.drawReader(event.detail));
    this.keys = new Keys(this.actions());
    return this.route();
  }

  header() {
    const { judge, rubric } = this.view;
    this.who = el("span", { class: "small" });
    this.drawReader(this.reader?.name);
    return el("header", { class: "top" },
      el("h1", {}, rubric.title, " ", el("span", { class: "of" }, "of ", said(judge.name))),
      this.source.canReview ? el("a", { href: "/" }, "All runs") : null,
      this.who,
      el("button", { type: "button", class: "quiet", "aria-keyshortcuts": "?", on: { click: () => this.keys.help() } }, "Keys"),
      judge.note ? el("p", { class: "note", role: "note" }, said(judge.note)) : null);
  }

  drawReader(name) {
    if (!this.source.canReview) return;
    this.who.replaceChildren(
      name ? el("span", {}, "Reviewing as ", said(name), " ") : "",
      el("button", { type: "button", class: "quiet", on: { click: () => this.reader.ask() } }, name ? "Change" : "Who is reviewing?"));
  }

  footer() {
    return el("footer", {}, el("p", { class: "mono small" }, said(this.view.signature)));
  }

  overviewPart() {
    const files = this.source.resultsFile
      ? ["csv", "parquet", "json"].map((form) => [form.toUpperCase(), this.source.resultsFile(form)]) : [];
    return overviewSection(this.view, this.labels, files);
  }

  drawForm() {
    this.form.replaceChildren(filterForm(this.view, this.labels, this.query, () => this.changed(), this.source));
    const search = this.form.querySelector("#filter-q");
    search.addEventListener("focus", () => this.source.prepareSearch(), { once: true });
  }

  drawReaders() {
    if (!this.source.canReview) return;
    document.getElementById("readers").replaceChildren(
      readersSection(this.statistics, this.labels, this.source.reviewsFile));
  }

  fromAddress() {
    const query = new URLSearchParams(location.hash.slice(1));
    const study = query.get("study");
    query.delete("study");
    return { query, study };
  }

  addressOf(studyId) {
    const all = new URLSearchParams(this.query);
    if (studyId !== null) all.set("study", studyId);
    return `#${all}`;
  }

  go(address) {
    location.hash = address;
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
    const { query, study } = this.fromAddress();
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
    if (this.stale) {
      await drawList(this);
      this.stale = false;
    }
    if (this.readersStale) {
      this.statistics = (await this.source.reviews()).statistics;
      this.readersStale = false;
      this.drawReaders();
    }
    if (this.back) {
      const link = [...this.home.querySelectorAll("tbody a")].find((one) => one.textContent === this.back);
      (link ?? document.getElementById("studies-title")).focus();
    }
  }

  async show(which) {
    const opening = Symbol("opening");
    this.opening = opening;
    const found = await this.source.study(which, this.query);
    if (this.opening !== opening) return;
    this.study = { ...found, labels: this.labels };
    this.back = found.view.study_id;
    const review = this.source.canReview ? new Review(this.study, this) : null;
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
    const n = this.study?.view.errors.length ?? 0;
    if (!n) return;
    const at = this.at();
    focusError(this.open, at < 0 ? (by > 0 ? 0 : n - 1) : Math.min(n - 1, Math.max(0, at + by)));
  }

  verdict(word) {
    if (!this.review || !this.study.view.errors.length) return;
    // With one error there is no doubt which is meant; the first, when none is chosen yet.
    const at = Math.max(0, this.at());
    if (this.at() < 0) focusError(this.open, at);
    this.review.judge(at, word).catch(alarm);
  }

  actions() {
    const inStudy = (act) => () => (this.study ? act() : false);
    const steps = [
      ["n", "next study", inStudy(() => this.step(this.study.next).catch(alarm))],
      ["p", "previous study", inStudy(() => this.step(this.study.previous).catch(alarm))],
      ["j ArrowDown", "next error", inStudy(() => this.move(1))],
      ["k ArrowUp", "previous error", inStudy(() => this.move(-1))],
    ];
    const reviewing = !this.source.canReview ? [] : [
      ["a", "agree: the error is right", inStudy(() => this.verdict("right"))],
      ["d", "disagree: the error is wrong", inStudy(() => this.verdict("wrong"))],
      ["s", "right, but the wrong severity", inStudy(() => this.verdict("wrong_severity"))],
      ["u", "withdraw the verdict", inStudy(() => this.verdict("none"))],
      ["m", "add an error that was missed", inStudy(() => this.toMissed())],
      ["c", "comment on the study", inStudy(() => document.getElementById("comment").focus())],
    ];
    return [
      ...steps,
      ...reviewing,
      ["r", "raw answer", inStudy(() => this.toggleAnswer())],
      ["/", "search", () => (this.study ? false : this.form.querySelector("#filter-q").focus())],
      ["Escape", "leave a field, back to all studies", inStudy(() => this.go(this.addressOf(null)))],
      ["?", "this help", () => this.keys.help()],
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

async function begin() {
  const { mode, run, reader } = document.documentElement.dataset;
  if (mode === "file") {
    const source = await embedded();
    await new App(source, await source.overview(), null).start();
    // The search is made ready while nobody waits for it.
    setTimeout(source.prepareSearch);
  } else if (run) {
    const source = service(run);
    await new App(source, await source.overview(), new Reader(reader)).start();
  } else {
    await runsPage();
  }
  document.documentElement.dataset.ready = "yes";
}

begin().catch((error) => {
  if (!document.getElementById("alarm")) frame(el("main", { id: "main" }, el("h1", {}, "judge")));
  alarm(error);
});
