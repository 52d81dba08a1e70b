// The reading page: who reads, practice, the queue, and the study that is next. It asks the service
// for nothing that a judge or another reader said.

import { announce, begin, button, control, el, factList, find, frame, goTo, isolated, latestOnly, option, redraw } from "./dom.js";
import { StudyEditor, keyButton } from "./editor.js";
import { Keys, Reader, remember, remembered, showDialog } from "./keys.js";
import { ask } from "./load.js";
import { keysOf, labelKeys } from "./marks.js";
import { N_PRACTICE, feedback, practiceStudy } from "./practice.js";
import { capital, count } from "./format.js";

const SIGNS = { new: "", begun: " …", done: " ✓", "not judged": " –" };
const PRACTISED = "judge.practised";

const isOpen = ({ state }) => state === "new" || state === "begun";

class App {
  reader; base; queue; rubric; marked; kinds; at;
  editor = null;
  practice = null;
  seconds = new Map();  // how long each study was in view
  looked = performance.now();
  isSeen = true;
  unsaved = new Map();  // the readings that the service does not have yet
  saving = Promise.resolve();

  constructor(run, reader) {
    Object.assign(this, { reader, base: `/v1/runs/${encodeURIComponent(run)}` });
  }

  #ask(name, query = {}) {
    return ask(`${this.base}/${name}?${new URLSearchParams({ reader: this.reader.name, ...query })}`);
  }

  async start() {
    const { rubric, queue, marked } = await this.#ask("reading");
    if (!queue?.length) throw new Error("No studies are drawn for reading yet: judge sample RUN -n 100 draws them at random.");
    Object.assign(this, { rubric, queue, marked: new Set(marked), kinds: labelKeys(rubric) });
    this.main = el("main", { id: "main" });
    this.steps = el("nav", { class: "steps", "aria-label": "Studies" });
    this.saved = el("span", { class: "small", role: "status" });
    this.count = el("label", { class: "small" });
    frame(this.#header(new Keys(this.#actions())), this.main, this.steps);
    document.addEventListener("reader", () => location.reload());
    document.addEventListener("visibilitychange", () => this.#look());
    window.addEventListener("beforeunload", (event) => {
      this.editor?.keepComment();
      if (this.unsaved.size) event.preventDefault();
    });
    const isNew = queue.every(({ state }) => state === "new") && remembered(PRACTISED) !== this.reader.name;
    await (isNew ? this.#openPractice(0) : this.#open(this.#unfinished(-1)));
  }

  #header(keys) {
    const { title, summary } = this.rubric;
    const kind = ({ label, key, facets }) => [
      el("h3", {}, capital(label), key ? [" ", el("kbd", {}, key)] : null),
      facets.map((facet) => factList(facet.labels.map((entry) => [entry.key ?? "", entry.text]))),
    ];
    return el("header", { class: "top" },
      el("h1", {}, "Reading ", isolated(title)), this.count, this.saved,
      el("span", { class: "small" }, "as ", isolated(this.reader.name), " ",
        button("Change", () => this.reader.ask(), { class: "quiet" })),
      keys.button(), el("a", { href: "/" }, "Leave"),
      el("details", { id: "guidelines" }, el("summary", {}, "Guidelines"),
        el("div", {}, summary ? el("p", {}, summary) : null, this.kinds.map(kind),
          button("Practice studies", () => this.#leave() && this.#openPractice(0)))));
  }

  // The keys of the rubric come first; they do nothing where there is nothing to label.
  #actions() {
    const inStudy = (act) => () => (this.editor ? act(this.editor) : false);
    return [
      ...[...keysOf(this.kinds)].map(([key, text]) => ({ key, text, act: inStudy((editor) => editor.press(key)) })),
      { key: "N", text: "no errors: done, next study", act: () => this.#finish(false) },
      { key: "G", text: "done, next study", act: () => this.#finish(true) },
      { key: "B", text: "cannot judge this study, for a reason", act: () => this.#cannotJudge() },
      { key: "n", text: "next study, this one is not done", act: () => this.#step(1) },
      { key: "p", text: "previous study", act: () => this.#step(-1) },
      {
        key: "r", text: "to the reference; arrows choose words and lines, with Shift more of them",
        act: inStudy(({ reports }) => reports[0].box.focus()),
      },
      { key: "v", text: "to the candidate", act: inStudy((editor) => editor.focus()) },
      ...(this.rubric.has_edits
        ? [{ key: "i", text: "put a line in (Enter changes one, Del deletes one)", act: inStudy((editor) => editor.begin("insert")) }] : []),
      { key: "j", text: "next mark", act: inStudy((editor) => editor.move(1)) },
      { key: "k", text: "previous mark", act: inStudy((editor) => editor.move(-1)) },
      { key: "X", text: "delete the mark", act: inStudy((editor) => editor.remove()) },
      { key: "U", text: "undo, in this study", act: inStudy((editor) => editor.undo()) },
      { key: "Escape", text: "leave a field, a mark", act: inStudy((editor) => editor.cancel()) },
    ];
  }

  // The first study after a place that is not done, else the first of all, else -1.
  #unfinished(at) {
    const later = this.queue.findIndex((entry, place) => place > at && isOpen(entry));
    return later >= 0 ? later : this.queue.findIndex(isOpen);
  }

  // Shows a study to read, with the marks that it has so far.
  #edit(study, reading, heading, hint) {
    this.editor = new StudyEditor(this, study, reading, el("h2", {}, heading, " ", el("span", { class: "small" }, hint)));
    this.main.replaceChildren(this.editor.element);
    document.title = `Reading ${heading}`;
    this.#drawSteps();
    window.scrollTo(0, 0);
    this.editor.focus();
  }

  async #open(at) {
    this.#look();
    if (at < 0) {
      Object.assign(this, { at: this.queue.length, editor: null, practice: null });
      this.main.replaceChildren(el("h2", { tabindex: "-1" }, `All ${count(this.queue.length, "study", "studies")} are read. Thank you.`));
      find("h2", this.main).focus();
      this.#drawSteps();
      return;
    }
    const { study_id: id } = this.queue[at];
    const study = await latestOnly(this, "opening", this.#ask("reading/study", { id }));
    if (!study) return;
    find("#alarm").replaceChildren();
    Object.assign(this, { at, practice: null });
    const saved = this.unsaved.get(id) ?? study.reading;
    if (!this.seconds.has(id)) this.seconds.set(id, saved ? saved.seconds ?? null : 0);
    const { items = [], comment = "", done = false, texts, cannot_judge: why = "" } = saved ?? {};
    this.#edit(study, { study_id: id, done, items, comment, texts: texts || study.texts, cannot_judge: why },
      `${at + 1} of ${this.queue.length.toLocaleString("en")}`, ["study ", isolated(id)]);
    announce(`Study ${at + 1} of ${this.queue.length}`);
  }

  async #openPractice(at) {
    this.#look();
    Object.assign(this, { at: -1, practice: { at, isChecked: false } });
    const study = practiceStudy(at);
    this.#edit(study, { study_id: study.study_id, done: false, items: [], comment: "", cannot_judge: "" },
      `Practice ${at + 1} of ${N_PRACTICE}`, "made up, and not counted: mark its errors, then Check");
  }

  #endPractice() {
    remember(PRACTISED, this.reader.name);
    this.editor = null;
    this.#open(this.#unfinished(-1));
  }

  #check() {
    const { reading, element } = this.editor;
    find(".feedback", element)?.remove();
    find(".below", element).prepend(feedback(this.practice.at, reading.items, this.kinds));
    this.practice.isChecked = true;
    this.#drawSteps();
    goTo(find("#feedback-title", element), "nearest");
  }

  // Adds the time since the last look to the study in view; time in a hidden tab does not count.
  #look() {
    const [now, id] = [performance.now(), this.editor?.reading.study_id];
    const before = this.seconds.get(id);
    if (this.isSeen && typeof before === "number") this.seconds.set(id, before + (now - this.looked) / 1000);
    Object.assign(this, { looked: now, isSeen: !document.hidden });
  }

  // Saves a reading, after those of before; returns it with the seconds in view.
  save(reading) {
    const { study_id: id } = reading;
    if (this.practice) {
      this.#drawSteps();
      return reading;
    }
    this.#look();
    const seconds = this.seconds.get(id);
    const timed = { ...reading, seconds: typeof seconds === "number" ? Math.round(10 * seconds) / 10 : null };
    for (const { kind } of reading.items) this.marked.add(kind);
    this.queue.find((entry) => entry.study_id === id).state = !reading.done ? "begun" : reading.cannot_judge ? "not judged" : "done";
    this.unsaved.set(id, timed);
    this.#send();
    this.#drawSteps();
    return timed;
  }

  #send() {
    this.saving = this.saving.then(async () => {
      for (const [id, reading] of this.unsaved) {
        await ask(`${this.base}/readings`, { method: "POST", body: { ...reading, reader: this.reader.name } });
        if (this.unsaved.get(id) === reading) this.unsaved.delete(id);
      }
      this.saved.replaceChildren("Saved");
    }).catch(({ message }) => this.saved.replaceChildren(
      el("span", { class: "wrong" }, isolated(`Not saved: ${message} `)), button("Try again", () => this.#send(), { class: "quiet" })));
  }

  #finish(hasErrors) {
    if (!this.editor) return false;
    if (!this.editor.finish(hasErrors)) return true;
    return this.practice ? this.#check() : this.#open(this.#unfinished(this.at));
  }

  #cannotJudge() {
    if (!this.editor || this.practice) return false;
    if (!this.#leave()) return true;
    const field = el("input", { id: "why", required: true, maxlength: "1000", autocomplete: "off", value: this.editor.reading.cannot_judge });
    const end = () => {
      if (!field.value.trim()) return;
      this.editor.cannotJudge(field.value.trim());
      this.#open(this.#unfinished(this.at));
    };
    return showDialog("Cannot judge this study", [
      el("p", {}, "It gets no score, and is counted beside those that have one."),
      el("label", { for: "why" }, "Why?"), field,
    ], "Save, next study", end);
  }

  #step(by) {
    return !this.practice && this.queue[this.at + by] ? this.#leaveFor(this.at + by) : false;
  }

  // Whether the study in view may be left.
  #leave() {
    return !this.editor || this.editor.leave();
  }

  #leaveFor(at) {
    return this.#leave() ? this.#open(at) : true;
  }

  #drawSteps() {
    const n = this.queue.length;
    const [done, unjudged] = ["done", "not judged"].map((name) => this.queue.filter(({ state }) => state === name).length);
    this.count.replaceChildren(el("progress", { value: done + unjudged, max: n }), ` ${done.toLocaleString("en")} of ${n.toLocaleString("en")} done`,
      unjudged ? `, ${unjudged.toLocaleString("en")} not judged` : "");
    redraw(this.steps, this.practice ? this.#practiceSteps() : this.#readingSteps(n),
      keyButton("undo", "Undo", "U", () => this.editor.undo(), { disabled: !this.editor?.past.length }));
  }

  #practiceSteps() {
    const { at, isChecked } = this.practice;
    const isLast = at + 1 === N_PRACTICE;
    const goOn = () => (isLast ? this.#endPractice() : this.#openPractice(at + 1));
    return [
      button("Skip the practice", () => this.#endPractice(), { "data-act": "skip" }),
      keyButton("nothing", "No errors - check", "N", () => this.#finish(false)),
      keyButton("done", "Check", "G", () => this.#finish(true), { class: isChecked ? null : "main" }),
      isChecked ? button(isLast ? "Begin reading" : "Next practice study", goOn, { class: "main", "data-act": "next" }) : null,
    ];
  }

  #readingSteps(n) {
    const reading = this.editor?.reading;
    const open = ({ target }) => this.#leaveFor(Number(target.value));
    const place = el("select", { "data-act": "place", on: { change: open } },
      this.queue.map(({ state }, at) => option(String(at), `${at + 1}${SIGNS[state]}`, String(this.at))));
    return [
      keyButton("previous", "Previous", "p", () => this.#step(-1), { disabled: this.at <= 0 }),
      keyButton("later", "Next, not done", "n", () => this.#step(1), { disabled: this.at + 1 >= n }),
      control("place", "Study", place),
      ...(reading ? [keyButton("cannot", "Cannot judge", "B", () => this.#cannotJudge()),
        keyButton("nothing", "No errors - next", "N", () => this.#finish(false)),
        keyButton("done", reading.done && !reading.cannot_judge ? "Done ✓ - next" : "Done - next", "G", () => this.#finish(true), { class: "main" })] : []),
    ];
  }
}

begin(async () => {
  const reader = new Reader("", "Who is reading?", "reading");
  while (!await reader.known());
  await new App(document.documentElement.dataset.run, reader).start();
});
