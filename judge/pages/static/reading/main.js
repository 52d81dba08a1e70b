// Starts the page: who reads, the queue, and the study that is next. It asks the service for nothing
// that a judge or another reader said.

import { alarm, announce, begin, button, el, fact, frame, isolated, latestOnly } from "./dom.js";
import { Desk, keyButton } from "./desk.js";
import { Keys, Reader } from "./keys.js";
import { ask } from "./load.js";
import { Saver } from "./saver.js";
import { keysOf, scheme } from "./scheme.js";
import { capital, count } from "./format.js";

const STATES = { new: "not begun", begun: "begun", done: "done" };

class App {
  constructor(run, reader) {
    Object.assign(this, { reader, base: `/v1/runs/${encodeURIComponent(run)}`, desk: null });
    // Readings before each change, and the next study.
    Object.assign(this, { past: [], ahead: null });
    this.saver = new Saver(run, reader.name, (how, why) => this.#drawSaved(how, why));
  }

  #ask(name, query = {}) {
    return ask(`${this.base}/${name}?${new URLSearchParams({ reader: this.reader.name, ...query })}`);
  }

  imagesOf({ study_id: id, n_images: n }) {
    return Array.from({ length: n }, (_, at) => `${this.base}/reading/image?${new URLSearchParams({ id, at })}`);
  }

  async start() {
    const { queue, rubric, marked } = await this.#ask("reading");
    Object.assign(this, { queue: queue ?? [], rubric, marked: new Set(marked), kinds: scheme(rubric) });
    this.main = el("main", { id: "main" });
    this.steps = el("nav", { class: "steps", "aria-label": "Studies" });
    this.saved = el("span", { id: "saved", class: "small" });
    this.count = el("label", { class: "small" });
    this.all = el("details", { id: "queue", on: { toggle: () => this.#drawQueue() } }, el("summary", {}, "Queue"));
    this.keys = new Keys(this.#actions());
    frame(this.#header(), this.main, this.steps);
    document.addEventListener("reader", () => location.reload());
    window.addEventListener("pagehide", () => this.desk?.keepComment());
    if (!this.queue.length) {
      this.main.replaceChildren(this.#noSample(queue));
      return;
    }
    for (const { study_id: id } of this.queue) if (this.saver.pending.has(id)) this.#take(this.saver.pending.get(id));
    if (this.saver.pending.size) this.saver.flush();
    await this.#open(this.#unfinished(-1));
  }

  #header() {
    const { title, summary } = this.rubric;
    const kind = ({ label, key, facets }) => [
      el("h3", {}, capital(label), key ? [" ", el("kbd", {}, key)] : null),
      facets.map((facet) => el("dl", {}, facet.labels.map((each) =>
        fact(each.key ?? "", each.text)))),
    ];
    return el("header", { class: "top" },
      el("h1", {}, "Reading ", el("span", { class: "of" }, title)), this.count, this.saved, this.all,
      el("details", { id: "guidelines" }, el("summary", {}, "Guidelines"),
        el("div", {}, summary ? el("p", {}, summary) : null, this.kinds.map(kind))),
      el("span", { class: "small" }, "as ", isolated(this.reader.name), " ",
        button("Change", () => this.reader.ask(), { class: "quiet" })),
      button("Keys", () => this.keys.help(), { class: "quiet", "aria-keyshortcuts": "?" }),
      el("a", { href: "/" }, "Leave"));
  }

  // The keys of the rubric come first, which say nothing where there is nothing to label.
  #actions() {
    const onDesk = (act) => () => (this.desk ? act(this.desk) : false);
    const image = (by) => onDesk(({ image: view }) => (view ? view.scale(by) : false));
    return [
      ...[...keysOf(this.kinds)].map(([key, text]) => ({ keys: key, text, act: onDesk((desk) => desk.press(key)) })),
      { keys: "N", text: "no errors: done, next study", act: () => this.#finish(false) },
      { keys: "G", text: "done, next study", act: () => this.#finish(true) },
      { keys: "n", text: "next study, this one is not done", act: () => this.#step(1) },
      { keys: "p", text: "previous study", act: () => this.#step(-1) },
      {
        keys: "r", text: "to the reference; arrows choose words and lines, with Shift more of them",
        act: onDesk(({ reports }) => reports[0].box.focus()),
      },
      { keys: "v", text: "to the candidate", act: onDesk((desk) => desk.focus()) },
      ...(this.rubric.has_edits
        ? [{ keys: "i", text: "put a line in (Enter changes one, Del deletes one)", act: onDesk((desk) => desk.begin("insert")) }] : []),
      { keys: "j", text: "next mark", act: onDesk((desk) => desk.move(1)) },
      { keys: "k", text: "previous mark", act: onDesk((desk) => desk.move(-1)) },
      { keys: "X Delete", text: "delete the mark", act: onDesk((desk) => desk.remove()) },
      { keys: "U", text: "undo, also what was saved", act: () => { this.#undo().catch(alarm); } },
      { keys: "C", text: "comment on the study", act: onDesk((desk) => desk.comment.focus()) },
      { keys: "q", text: "the queue", act: () => { this.all.open = !this.all.open; this.all.firstChild.focus(); } },
      { keys: "+ =", text: "zoom the image in", act: image(1.4) },
      { keys: "-", text: "zoom the image out", act: image(1 / 1.4) },
      { keys: "0", text: "the whole image", act: image(0) },
      { keys: "Escape", text: "leave a field, a mark", act: onDesk((desk) => desk.cancel()) },
      { keys: "?", text: "this help", act: () => this.keys.help() },
    ];
  }

  #noSample(queue) {
    const draw = () => ask(`${this.base}/sample`, { method: "POST", body: { n: Number(field.value) } })
      .then(() => location.reload(), alarm);
    const field = el("input", { id: "draw-n", type: "number", min: "1", max: "100000", value: "100" });
    return el("section", { class: "end" },
      el("h2", {}, queue ? "The sample has none of this run's studies" : "No studies are drawn for reading yet"),
      el("p", {}, "Chance decides which studies are read, so that what readers find holds for all of them."),
      queue ? null : el("p", { class: "controls" }, el("label", { for: "draw-n" }, "Studies "), field,
        button("Draw them", draw, { class: "main" })));
  }

  // The first study after a place that is not done, else the first of all, else none.
  #unfinished(at) {
    const isOpen = ({ state }) => state !== "done";
    const later = this.queue.findIndex((entry, place) => place > at && isOpen(entry));
    return later >= 0 ? later : this.queue.findIndex(isOpen);
  }

  async #open(at) {
    if (at < 0) {
      Object.assign(this, { at: this.queue.length, desk: null });
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
    this.at = at;
    const pending = this.saver.pending.get(id);
    const isOfOthers = Boolean(pending) && pending.texts !== study.texts;
    if (isOfOthers) {
      this.saver.drop(pending).catch(alarm);
      this.queue[at].state = !study.reading ? "new" : study.reading.done ? "done" : "begun";
      alarm(new Error("The reports of this study have changed: what was marked in the earlier ones and not saved is gone."));
    }
    const { items = [], comment = "", done = false, texts } = (isOfOthers ? null : pending) ?? study.reading ?? {};
    const title = el("h2", { tabindex: "-1" }, `${at + 1} of ${this.queue.length.toLocaleString("en")} `,
      el("span", { class: "small" }, "study ", isolated(id)));
    this.desk = new Desk(this, study, { study_id: id, done, items, comment, texts: texts || study.texts }, title);
    this.main.replaceChildren(this.desk.element);
    document.title = `Reading ${at + 1} of ${this.queue.length}`;
    this.#drawSteps();
    window.scrollTo(0, 0);
    this.desk.focus();
    announce(`Study ${at + 1} of ${this.queue.length}, ${STATES[this.queue[at].state]}`);
    this.#lookAhead(this.#unfinished(at));
  }

  // The next study is there before it is asked for.
  #lookAhead(at) {
    const id = this.queue[at]?.study_id;
    if (id === undefined || this.ahead?.id === id || this.saver.pending.has(id)) return;
    this.ahead = { id, study: this.#ask("reading/study", { id }) };
    this.ahead.study.catch(() => { this.ahead = null; });
  }

  // Takes a changed reading over from the desk: it can be taken back, and is saved.
  keep(before, after) {
    this.past.push(before);
    this.#take(after);
    this.saver.save(after).catch(alarm);
    this.#drawSteps();
  }

  #take(reading) {
    if (this.ahead?.id === reading.study_id) this.ahead = null;
    for (const { kind } of reading.items) this.marked.add(kind);
    this.queue.find(({ study_id: id }) => id === reading.study_id).state = reading.done ? "done" : "begun";
  }

  async #undo() {
    if (this.desk?.draft) return this.desk.cancel();
    const before = this.past.at(-1);
    if (!before) return announce("There is nothing to take back");
    if (this.desk?.reading.study_id !== before.study_id) {
      await this.#open(this.queue.findIndex(({ study_id: id }) => id === before.study_id));
    }
    this.past.pop();
    this.#take(before);
    this.desk.restore(before);
    this.#drawSteps();
    announce("Taken back");
    return this.saver.save(before);
  }

  #finish(hasErrors) {
    if (!this.desk) return false;
    return this.desk.finish(hasErrors) ? this.#open(this.#unfinished(this.at)).catch(alarm) : true;
  }

  #step(by) {
    return this.queue[this.at + by] ? this.#leaveFor(this.at + by) : false;
  }

  #leaveFor(at) {
    if (this.desk && !this.desk.leave()) return true;
    return this.#open(at).catch(alarm);
  }

  #drawSaved(how, why) {
    const words = { saved: "Saved", saving: "Saving …", waiting: `Not saved yet, and tried again: ${why}`, refused: `Not saved: ${why}` };
    this.saved.className = `small ${how}`;
    this.saved.replaceChildren(isolated(words[how]));
    if (why) announce(words[how]);
    if (how === "refused") this.saved.append(button("Try again", () => this.saver.flush(), { class: "quiet" }));
  }

  #drawSteps() {
    const [n, done] = [this.queue.length, this.queue.filter(({ state }) => state === "done").length];
    this.count.replaceChildren(el("progress", { value: done, max: n }), ` ${done.toLocaleString("en")} of ${n.toLocaleString("en")} done`);
    const reading = this.desk?.reading;
    const hadFocus = this.steps.contains(document.activeElement) ? document.activeElement.dataset.act : null;
    this.steps.replaceChildren(
      keyButton("previous", "Previous", "p", () => this.#step(-1), { disabled: this.at <= 0 }),
      keyButton("undo", "Undo", "U", () => this.#undo().catch(alarm), { disabled: !this.past.length }),
      keyButton("later", "Next, not done", "n", () => this.#step(1), { disabled: this.at + 1 >= n }),
      ...(reading ? [keyButton("nothing", "No errors - next", "N", () => this.#finish(false)),
        keyButton("done", reading.done ? "Done ✓ - next" : "Done - next", "G", () => this.#finish(true), { class: "main" })] : []));
    if (hadFocus) this.steps.querySelector(`[data-act="${hadFocus}"]`)?.focus();
    this.#drawQueue();
  }

  #drawQueue() {
    const open = (at) => {
      this.all.open = false;
      this.#leaveFor(at);
    };
    this.all.replaceChildren(this.all.firstChild, !this.all.open ? "" : el("ol", {}, this.queue.map(({ state }, at) => el("li", {},
      button(`${at + 1}${state === "done" ? "✓" : ""}`, () => open(at), {
        class: state, "aria-current": at === this.at ? "true" : null, "aria-label": `Study ${at + 1}, ${STATES[state]}`,
      })))));
  }
}

begin(async () => {
  const reader = new Reader("", "Who is reading?", "reading");
  while (!await reader.known());
  await new App(document.documentElement.dataset.run, reader).start();
});
