// The reading page: who reads, practice, the queue, and the study that is next. It asks the service
// for nothing that a judge or another reader said.

import { alarm, announce, begin, button, el, fact, frame, goTo, isolated, latestOnly } from "./dom.js";
import { StudyEditor, keyButton, redraw } from "./editor.js";
import { Keys, Reader, remember, remembered, showDialog } from "./keys.js";
import { ask } from "./load.js";
import { keysOf, labelKeys } from "./marks.js";
import { N_PRACTICE, feedback, practiceStudy } from "./practice.js";
import { Saver } from "./saver.js";
import { capital, count } from "./format.js";

const STATES = { new: "not begun", begun: "begun", done: "done", "not judged": "not judged" };
const REASONS = ["The image is needed", "A report is cut off or unreadable", "Outside my field"];
const PRACTISED = "judge.practised";

const isOpen = ({ state }) => state === "new" || state === "begun";

class App {
  reader; base; queue; rubric; marked; kinds; at;
  editor = null;
  practice = null;
  past = [];  // readings before each change
  ahead = null;  // the next study
  seconds = new Map();  // how long each study was in view
  looked = performance.now();
  isSeen = true;

  constructor(run, reader) {
    Object.assign(this, { reader, base: `/v1/runs/${encodeURIComponent(run)}` });
    this.saver = new Saver(run, reader.name, (how, why) => this.#drawSaved(how, why));
  }

  #ask(name, query = {}) {
    return ask(`${this.base}/${name}?${new URLSearchParams({ reader: this.reader.name, ...query })}`);
  }

  imageOf({ study_id: id }) {
    return `${this.base}/reading/image?${new URLSearchParams({ id })}`;
  }

  async start() {
    const { queue, rubric, marked } = await this.#ask("reading");
    Object.assign(this, { queue: queue ?? [], rubric, marked: new Set(marked), kinds: labelKeys(rubric) });
    this.main = el("main", { id: "main" });
    this.steps = el("nav", { class: "steps", "aria-label": "Studies" });
    this.saved = el("span", { id: "saved", class: "small" });
    this.count = el("label", { class: "small" });
    this.all = el("details", { id: "queue", on: { toggle: () => this.#drawQueue() } }, el("summary", {}, "Queue"));
    this.keys = new Keys(this.#actions());
    frame(this.#header(), this.main, this.steps);
    document.addEventListener("reader", () => location.reload());
    document.addEventListener("visibilitychange", () => this.#look());
    window.addEventListener("pagehide", () => this.editor?.keepComment());
    if (!this.queue.length) {
      this.main.replaceChildren(this.#noSample(queue));
      return;
    }
    for (const { study_id: id } of this.queue) if (this.saver.pending.has(id)) this.#take(this.saver.pending.get(id));
    if (this.saver.pending.size) this.saver.flush();
    const isNew = this.queue.every(({ state }) => state === "new") && remembered(PRACTISED) !== this.reader.name;
    await (isNew ? this.#openPractice(0) : this.#open(this.#unfinished(-1)));
  }

  #header() {
    const { title, summary } = this.rubric;
    const kind = ({ label, key, facets }) => [
      el("h3", {}, capital(label), key ? [" ", el("kbd", {}, key)] : null),
      facets.map((facet) => el("dl", {}, facet.labels.map((entry) => fact(entry.key ?? "", entry.text)))),
    ];
    return el("header", { class: "top" },
      el("h1", {}, "Reading ", el("span", { class: "of" }, title)), this.count, this.saved, this.all,
      el("details", { id: "guidelines" }, el("summary", {}, "Guidelines"),
        el("div", {}, summary ? el("p", {}, summary) : null, this.kinds.map(kind),
          button("Practice studies", () => this.#leave() && this.#openPractice(0)))),
      el("span", { class: "small" }, "as ", isolated(this.reader.name), " ",
        button("Change", () => this.reader.ask(), { class: "quiet" })),
      button("Keys", () => this.keys.help(), { class: "quiet", "aria-keyshortcuts": "?" }),
      el("a", { href: "/" }, "Leave"));
  }

  // The keys of the rubric come first; they do nothing where there is nothing to label.
  #actions() {
    const inStudy = (act) => () => (this.editor ? act(this.editor) : false);
    const image = (by) => inStudy(({ image: view }) => (view ? view.scale(by) : false));
    return [
      ...[...keysOf(this.kinds)].map(([key, text]) => ({ keys: key, text, act: inStudy((editor) => editor.press(key)) })),
      { keys: "N", text: "no errors: done, next study", act: () => this.#finish(false) },
      { keys: "G", text: "done, next study", act: () => this.#finish(true) },
      { keys: "B", text: "cannot judge this study, for a reason", act: () => this.#cannotJudge() },
      { keys: "n", text: "next study, this one is not done", act: () => this.#step(1) },
      { keys: "p", text: "previous study", act: () => this.#step(-1) },
      {
        keys: "r", text: "to the reference; arrows choose words and lines, with Shift more of them",
        act: inStudy(({ reports }) => reports[0].box.focus()),
      },
      { keys: "v", text: "to the candidate", act: inStudy((editor) => editor.focus()) },
      ...(this.rubric.has_edits
        ? [{ keys: "i", text: "put a line in (Enter changes one, Del deletes one)", act: inStudy((editor) => editor.begin("insert")) }] : []),
      { keys: "j", text: "next mark", act: inStudy((editor) => editor.move(1)) },
      { keys: "k", text: "previous mark", act: inStudy((editor) => editor.move(-1)) },
      { keys: "X Delete", text: "delete the mark", act: inStudy((editor) => editor.remove()) },
      { keys: "U", text: "undo, also what was saved", act: () => { this.#undo().catch(alarm); } },
      { keys: "C", text: "comment on the study", act: inStudy((editor) => editor.comment.focus()) },
      { keys: "q", text: "the queue", act: () => { this.all.open = !this.all.open; this.all.firstChild.focus(); } },
      { keys: "+ =", text: "zoom the image in", act: image(1.4) },
      { keys: "-", text: "zoom the image out", act: image(1 / 1.4) },
      { keys: "0", text: "the whole image", act: image(0) },
      { keys: "Escape", text: "leave a field, a mark", act: inStudy((editor) => editor.cancel()) },
      { keys: "?", text: "this help", act: () => this.keys.help() },
    ];
  }

  #noSample(queue) {
    return el("section", { class: "end" },
      el("h2", {}, queue ? "The sample has none of this run's studies" : "No studies are drawn for reading yet"),
      el("p", {}, "Studies are drawn at random, so that what readers find holds for all of them: judge sample RUN -n 100"));
  }

  // The first study after a place that is not done, else the first of all, else -1.
  #unfinished(at) {
    const later = this.queue.findIndex((entry, place) => place > at && isOpen(entry));
    return later >= 0 ? later : this.queue.findIndex(isOpen);
  }

  // Shows a study to read, with the marks that it has so far.
  #edit(study, reading, heading, hint) {
    this.editor = new StudyEditor(this, study, reading, el("h2", { tabindex: "-1" }, heading, " ", el("span", { class: "small" }, hint)));
    this.main.replaceChildren(this.editor.element);
    document.title = `Reading ${heading}`;
    this.#drawSteps();
    window.scrollTo(0, 0);
    this.editor.focus();
  }

  async #open(at) {
    this.#look();
    if (at < 0) {
      Object.assign(this, { at: this.queue.length, editor: null });
      this.main.replaceChildren(el("section", { class: "end" },
        el("h2", { tabindex: "-1" }, `All ${count(this.queue.length, "study", "studies")} are read. Thank you.`),
        el("p", {}, "The queue opens any of them again.")));
      this.main.querySelector("h2").focus();
      this.#drawSteps();
      return;
    }
    const { study_id: id } = this.queue[at];
    const study = await latestOnly(this, "opening", this.ahead?.id === id ? this.ahead.study : this.#ask("reading/study", { id }));
    if (!study) return;
    document.getElementById("alarm").replaceChildren();
    Object.assign(this, { at, practice: null });
    const pending = this.saver.pending.get(id);
    const isOfOthers = Boolean(pending) && pending.texts !== study.texts;
    if (isOfOthers) {
      this.saver.drop(pending).catch(alarm);
      this.queue[at].state = !study.reading ? "new" : study.reading.done ? "done" : "begun";
      alarm(new Error("The reports of this study have changed: what was marked in the earlier ones and not saved is gone."));
    }
    const saved = (isOfOthers ? null : pending) ?? study.reading;
    if (!this.seconds.has(id)) this.seconds.set(id, saved ? saved.seconds ?? null : 0);
    const { items = [], comment = "", done = false, texts, cannot_judge: why = "" } = saved ?? {};
    this.#edit(study, { study_id: id, done, items, comment, texts: texts || study.texts, cannot_judge: why },
      `${at + 1} of ${this.queue.length.toLocaleString("en")}`, ["study ", isolated(id)]);
    announce(`Study ${at + 1} of ${this.queue.length}, ${STATES[this.queue[at].state]}`);
    this.#lookAhead(this.#unfinished(at));
  }

  async #openPractice(at) {
    this.#look();
    Object.assign(this, { at: -1, practice: { at, isChecked: false }, past: [] });
    const study = practiceStudy(at);
    this.#edit(study, { study_id: study.study_id, done: false, items: [], comment: "", cannot_judge: "" },
      `Practice ${at + 1} of ${N_PRACTICE}`, "made up, and not counted: mark its errors, then Check");
  }

  #endPractice() {
    remember(PRACTISED, this.reader.name);
    Object.assign(this, { editor: null, past: [] });
    this.#open(this.#unfinished(-1)).catch(alarm);
  }

  #check() {
    const { reading, element } = this.editor;
    element.querySelector(".feedback")?.remove();
    element.querySelector(".below").prepend(feedback(this.practice.at, reading.items, this.kinds));
    this.practice.isChecked = true;
    this.#drawSteps();
    goTo(element.querySelector("#feedback-title"), "nearest");
  }

  // The next study is there before it is asked for.
  #lookAhead(at) {
    const id = this.queue[at]?.study_id;
    if (id === undefined || this.ahead?.id === id || this.saver.pending.has(id)) return;
    this.ahead = { id, study: this.#ask("reading/study", { id }) };
    this.ahead.study.catch(() => { this.ahead = null; });
  }

  // Adds the time since the last look to the study in view; time in a hidden tab does not count.
  #look() {
    const [now, id] = [performance.now(), this.editor?.reading.study_id];
    const before = this.seconds.get(id);
    if (this.isSeen && typeof before === "number") this.seconds.set(id, before + (now - this.looked) / 1000);
    Object.assign(this, { looked: now, isSeen: !document.hidden });
  }

  // Saves a changed reading of the editor; `past` has it for undo.
  keep(before, after) {
    this.past.push(before);
    return this.#save(after);
  }

  #save(reading) {
    if (this.practice) {
      this.#drawSteps();
      return reading;
    }
    this.#look();
    const seconds = this.seconds.get(reading.study_id);
    const timed = { ...reading, seconds: typeof seconds === "number" ? Math.round(10 * seconds) / 10 : null };
    this.#take(timed);
    this.saver.save(timed).catch(alarm);
    this.#drawSteps();
    return timed;
  }

  #take(reading) {
    if (this.ahead?.id === reading.study_id) this.ahead = null;
    for (const { kind } of reading.items) this.marked.add(kind);
    this.queue.find(({ study_id: id }) => id === reading.study_id).state =
      !reading.done ? "begun" : reading.cannot_judge ? "not judged" : "done";
  }

  async #undo() {
    if (this.editor?.draft) return void this.editor.cancel();
    const before = this.past.at(-1);
    if (!before) return announce("There is nothing to undo");
    if (this.editor?.reading.study_id !== before.study_id) {
      await this.#open(this.queue.findIndex(({ study_id: id }) => id === before.study_id));
    }
    this.past.pop();
    this.editor.restore(this.#save(before));
    return announce("Undone");
  }

  #finish(hasErrors) {
    if (!this.editor) return false;
    if (!this.editor.finish(hasErrors)) return true;
    return this.practice ? this.#check() : this.#open(this.#unfinished(this.at)).catch(alarm);
  }

  #cannotJudge() {
    if (!this.editor || this.practice) return false;
    if (!this.#leave()) return true;
    const field = el("input", { id: "why", required: true, maxlength: "1000", list: "reasons", autocomplete: "off", value: this.editor.reading.cannot_judge });
    const end = () => {
      if (!field.value.trim()) return;
      this.editor.cannotJudge(field.value.trim());
      this.#open(this.#unfinished(this.at)).catch(alarm);
    };
    return showDialog("why-title", "Cannot judge this study", [
      el("p", {}, "It gets no score, and is counted beside those that have one."),
      el("label", { for: "why" }, "Why?"), field,
      el("datalist", { id: "reasons" }, REASONS.map((value) => el("option", { value }))),
      el("p", { class: "tools" }, el("button", { class: "main" }, "Save, next study"),
        button("Cancel", ({ target }) => target.closest("dialog").close())),
    ], null, { on: { submit: end } });
  }

  #step(by) {
    return !this.practice && this.queue[this.at + by] ? this.#leaveFor(this.at + by) : false;
  }

  // Whether the study in view may be left.
  #leave() {
    return !this.editor || this.editor.leave();
  }

  #leaveFor(at) {
    return this.#leave() ? this.#open(at).catch(alarm) : true;
  }

  #drawSaved(how, why) {
    const words = { saved: "Saved", saving: "Saving …", waiting: `Not saved yet, and tried again: ${why}`, refused: `Not saved: ${why}` };
    this.saved.className = `small ${how}`;
    this.saved.replaceChildren(isolated(words[how]));
    if (why) announce(words[how]);
    if (how === "refused") this.saved.append(button("Try again", () => this.saver.flush(), { class: "quiet" }));
  }

  #drawSteps() {
    const n = this.queue.length;
    const [done, unjudged] = ["done", "not judged"].map((name) => this.queue.filter(({ state }) => state === name).length);
    this.count.replaceChildren(el("progress", { value: done + unjudged, max: n }), ` ${done.toLocaleString("en")} of ${n.toLocaleString("en")} done`,
      unjudged ? `, ${unjudged.toLocaleString("en")} not judged` : "");
    redraw(this.steps, this.practice ? this.#practiceSteps() : this.#readingSteps(n));
    this.#drawQueue();
  }

  #undoButton() {
    return keyButton("undo", "Undo", "U", () => this.#undo().catch(alarm), { disabled: !this.past.length });
  }

  #practiceSteps() {
    const { at, isChecked } = this.practice;
    const isLast = at + 1 === N_PRACTICE;
    const goOn = () => (isLast ? this.#endPractice() : this.#openPractice(at + 1));
    return [
      button("Skip the practice", () => this.#endPractice(), { "data-act": "skip" }), this.#undoButton(),
      keyButton("nothing", "No errors - check", "N", () => this.#finish(false)),
      keyButton("done", "Check", "G", () => this.#finish(true), { class: isChecked ? null : "main" }),
      ...(isChecked ? [button(isLast ? "Begin reading" : "Next practice study", goOn, { class: "main", "data-act": "next" })] : []),
    ];
  }

  #readingSteps(n) {
    const reading = this.editor?.reading;
    return [
      keyButton("previous", "Previous", "p", () => this.#step(-1), { disabled: this.at <= 0 }), this.#undoButton(),
      keyButton("later", "Next, not done", "n", () => this.#step(1), { disabled: this.at + 1 >= n }),
      ...(reading ? [keyButton("cannot", "Cannot judge", "B", () => this.#cannotJudge()),
        keyButton("nothing", "No errors - next", "N", () => this.#finish(false)),
        keyButton("done", reading.done && !reading.cannot_judge ? "Done ✓ - next" : "Done - next", "G", () => this.#finish(true), { class: "main" })] : []),
    ];
  }

  #drawQueue() {
    const open = (at) => {
      this.all.open = false;
      this.#leaveFor(at);
    };
    const signs = { done: "✓", "not judged": "–" };
    this.all.replaceChildren(this.all.firstChild, !this.all.open ? "" : el("ol", {}, this.queue.map(({ state }, at) => el("li", {},
      button(`${at + 1}${signs[state] ?? ""}`, () => open(at), {
        class: state.replace(" ", "-"), "aria-current": at === this.at ? "true" : null, "aria-label": `Study ${at + 1}, ${STATES[state]}`,
      })))));
  }
}

begin(async () => {
  const reader = new Reader("", "Who is reading?", "reading");
  while (!await reader.known());
  await new App(document.documentElement.dataset.run, reader).start();
});
