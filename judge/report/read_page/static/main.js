// Starts the page: who reads, the queue, and the study that is next. It asks the service for nothing
// that a judge or another reader said.

import { alarm, announce, begin, el, frame, latestOnly, isolated } from "./dom.js";
import { ask } from "./load.js";
import { Keys } from "./keys.js";
import { Reader } from "./reader.js";
import { button } from "./bar.js";
import { scheme } from "./draft.js";
import { actions } from "./actions.js";
import { Saver } from "./saving.js";
import { Desk } from "./reading.js";
import { count } from "./words.js";

const STATES = { new: "not begun", begun: "begun", done: "done" };

class App {
  constructor(run, reader) {
    Object.assign(this, { run, reader, past: [], mine: new Map(), ahead: null, desk: null });
  }

  asked(name, query) {
    const all = new URLSearchParams({ reader: this.reader.name, ...query });
    return ask(`/v1/runs/${encodeURIComponent(this.run)}/${name}?${all}`);
  }

  imagesOf({ study_id: id, n_images: n }) {
    return Array.from({ length: n }, (_, at) =>
      `/v1/runs/${encodeURIComponent(this.run)}/reading/image?${new URLSearchParams({ id, at })}`);
  }

  async start() {
    const { queue, rubric, marked } = await this.asked("reading", {});
    this.queue = queue;
    this.marked = new Set(marked);
    this.rubric = rubric;
    this.kinds = scheme(rubric);
    this.hasEdits = rubric.has_edits;
    this.main = el("main", { id: "main" });
    this.steps = el("nav", { class: "steps", "aria-label": "Studies" });
    this.saved = el("span", { id: "saved", class: "small" });
    this.count = el("span", { class: "small" });
    this.all = el("details", { id: "queue" }, el("summary", {}, "Queue"));
    this.all.addEventListener("toggle", () => this.drawQueue());
    frame(this.header(), this.main, this.steps);
    document.addEventListener("reader", () => location.reload());
    if (!queue?.length) {
      this.main.replaceChildren(noSample(this.run, queue));
      return;
    }
    this.saver = new Saver(this.run, this.reader.name, (how, why) => this.drawSaved(how, why));
    for (const one of queue) if (this.saver.unsaved(one.study_id)) this.told(this.saver.unsaved(one.study_id));
    this.keys = new Keys(actions(this));
    document.addEventListener("keydown", (event) => this.undoKey(event));
    // What is selected counts once the mouse, which was pressed in a report, is let go.
    document.addEventListener("pointerdown", ({ target, pointerType }) => { this.selecting = pointerType !== "touch" && Boolean(target.closest?.(".words")); });
    document.addEventListener("pointerup", () => { if (this.selecting) this.selected(true); });
    document.addEventListener("selectionchange", () => this.handlesMoved());
    document.addEventListener("visibilitychange", () => this.refresh().catch(alarm));
    if (this.saver.pending.size) this.saver.flush();
    await this.open(this.unfinished(-1));
  }

  header() {
    return el("header", { class: "top" },
      el("h1", {}, "Reading ", el("span", { class: "of" }, this.rubric.title)), this.count, this.saved, this.all,
      el("span", { class: "small" }, "as ", isolated(this.reader.name), " ",
        el("button", { type: "button", class: "quiet", on: { click: () => this.reader.ask() } }, "Change")),
      this.queue?.length ? el("button", { type: "button", class: "quiet", "aria-keyshortcuts": "?", on: { click: () => this.keys.help() } }, "Keys") : null,
      el("a", { href: "/" }, "Leave"));
  }

  // The first study after a place that is not done, else the first of all, else none.
  unfinished(at) {
    const isOpen = ({ state }) => state !== "done";
    const later = this.queue.findIndex((one, place) => place > at && isOpen(one));
    return later >= 0 ? later : this.queue.findIndex(isOpen);
  }

  async open(at) {
    if (at < 0) {
      this.at = this.queue.length;
      this.desk = null;
      this.main.replaceChildren(el("section", { class: "end" },
        el("h2", { tabindex: "-1" }, `All ${count(this.queue.length, "study", "studies")} are read. Thank you.`),
        el("p", {}, "The queue opens any of them again. More can be drawn with judge sample.")));
      this.main.querySelector("h2").focus();
      this.drawSteps();
      return;
    }
    const { study_id: id } = this.queue[at];
    const study = await latestOnly(this, "opening", this.ahead?.id === id ? this.ahead.study : this.asked("reading/study", { id }));
    if (!study) return;
    document.getElementById("alarm").replaceChildren();
    this.at = at;
    const { items = [], comment = "", done = false, texts } = this.mine.get(id) ?? this.saver.unsaved(id) ?? study.reading ?? {};
    const title = el("h2", { tabindex: "-1" }, `${at + 1} of ${this.queue.length.toLocaleString("en")} `, el("span", { class: "small" }, "study ", isolated(id)));
    this.desk = new Desk(this, study, { study_id: id, done, items, comment, texts: texts || study.texts }, title);
    this.main.replaceChildren(this.desk.element);
    document.title = `Reading ${at + 1} of ${this.queue.length}`;
    this.drawSteps();
    window.scrollTo(0, 0);
    this.desk.focus();
    announce(`Study ${at + 1} of ${this.queue.length}, ${STATES[this.queue[at].state]}`);
    this.lookAhead(this.unfinished(at));
  }

  // The next study is there before it is asked for.
  lookAhead(at) {
    const id = this.queue[at]?.study_id;
    if (id === undefined || this.ahead?.id === id) return;
    this.ahead = { id, study: this.asked("reading/study", { id }) };
    this.ahead.study.catch(() => { this.ahead = null; });
  }

  // Takes a changed reading over from the desk: it can be taken back, and is saved.
  keep(before, after) {
    this.past.push(before);
    this.told(after);
    this.saver.save(after).catch(alarm);
    this.drawSteps();
  }

  told(reading) {
    this.mine.set(reading.study_id, reading);
    for (const { kind } of reading.items) this.marked.add(kind);
    this.queue.find(({ study_id: id }) => id === reading.study_id).state = reading.done ? "done" : "begun";
  }

  async undo() {
    if (this.desk?.draft) return this.desk.cancel();
    const before = this.past.at(-1);
    if (!before) return announce("There is nothing to take back");
    if (this.desk?.reading.study_id !== before.study_id) {
      await this.open(this.queue.findIndex(({ study_id: id }) => id === before.study_id));
    }
    this.past.pop();
    this.told(before);
    this.desk.restore(before);
    this.drawSteps();
    announce("Taken back");
    return this.saver.save(before);
  }

  undoKey(event) {
    const isText = event.target.closest?.("input, textarea");
    if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || isText) return;
    event.preventDefault();
    this.undo().catch(alarm);
  }

  finish(nothing) {
    if (!this.desk) return false;
    return this.desk.finish({ nothing }) ? this.open(this.unfinished(this.at)).catch(alarm) : true;
  }

  step(by) {
    const at = this.at + by;
    if (at < 0 || at >= this.queue.length) return false;
    this.desk?.keepComment();
    return this.open(at).catch(alarm);
  }

  // What was marked elsewhere meanwhile, in another window or on a tablet, is taken over.
  async refresh() {
    if (document.hidden || this.saver.pending.size || this.desk?.draft || document.activeElement.matches("textarea")) return;
    this.mine.clear();
    this.ahead = null;
    this.queue = (await this.asked("reading", {})).queue ?? this.queue;
    if (!this.desk) return;
    const { study_id: id, items, comment, done } = this.desk.reading;
    const { reading } = await this.asked("reading/study", { id });
    const same = JSON.stringify([items, comment, done]) === JSON.stringify([reading?.items ?? [], reading?.comment ?? "", reading?.done ?? false]);
    if (same || this.saver.pending.size) return;
    this.past = [];
    await this.open(this.at);
  }

  // Takes over what is selected in the browser; `drawn` where nobody is still moving its ends.
  selected(drawn) {
    const selection = getSelection();
    if (!this.desk || !selection.rangeCount || selection.isCollapsed) return;
    const range = selection.getRangeAt(0);
    this.desk.reports.some((report) => report.take(range, drawn));
  }

  handlesMoved() {
    clearTimeout(this.handles);
    if (matchMedia("(pointer: coarse)").matches) this.handles = setTimeout(() => this.selected(false), 400);
  }

  drawSaved(how, why) {
    const time = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const words = { saved: `Saved ${time}`, saving: "Saving …", waiting: `Not saved yet, and tried again: ${why}`, refused: `Not saved: ${why}` };
    this.saved.className = `small ${how}`;
    this.saved.replaceChildren(isolated(words[how]));
    if (why) announce(words[how]);
    if (how === "refused") {
      this.saved.append(el("button", { type: "button", class: "quiet", on: { click: () => this.saver.flush() } }, "Try again"));
    }
  }

  drawSteps() {
    const done = this.queue.filter(({ state }) => state === "done").length;
    this.count.textContent = `${done.toLocaleString("en")} of ${this.queue.length.toLocaleString("en")} done`;
    const state = this.desk?.reading;
    const at = this.steps.contains(document.activeElement) ? document.activeElement.dataset.act : null;
    this.steps.replaceChildren(
      button("previous", "Previous", "p", () => this.step(-1), { disabled: this.at <= 0 }),
      button("undo", "Undo", "U", () => this.undo().catch(alarm), { disabled: !this.past.length }),
      button("later", "Next, not done", "n", () => this.step(1), { disabled: this.at + 1 >= this.queue.length }),
      ...(state ? [button("nothing", "No errors - next", "N", () => this.finish(true)),
        button("done", state.done ? "Done ✓ - next" : "Done - next", "G", () => this.finish(false), { main: true })] : []));
    if (at) this.steps.querySelector(`[data-act="${at}"]`)?.focus();
    if (this.all.open) this.drawQueue();
  }

  drawQueue() {
    const [summary] = this.all.children;
    const open = (at) => { this.all.open = false; this.desk?.keepComment(); this.open(at).catch(alarm); };
    this.all.replaceChildren(summary, this.all.open ? el("ol", {}, this.queue.map(({ state }, at) => el("li", {},
      el("button", { type: "button", class: state, "aria-current": at === this.at ? "true" : null, "aria-label": `Study ${at + 1}, ${STATES[state]}`, on: { click: () => open(at) } },
        `${at + 1}${state === "done" ? "✓" : ""}`)))) : "");
  }
}

function noSample(run, queue) {
  return el("section", { class: "end" }, el("h2", {}, queue ? "The sample has none of this run's studies" : "No studies are drawn for reading yet"),
    el("p", {}, "Which studies are read is decided by chance, so that what readers find holds for all of them. In a terminal, where RUN is the folder of this run (", isolated(run), "):"),
    el("pre", { class: "line" }, "judge sample RUN -n 100"),
    el("p", {}, "draws a hundred. Then load this page again."));
}

begin(async () => {
  const { run } = document.documentElement.dataset;
  const reader = new Reader("", "Who is reading?", "reading");
  while (!await reader.known());
  await new App(run, reader).start();
});
