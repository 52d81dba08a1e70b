// A page of results: what it comes to, the list of its studies, and one study; all of it follows
// the address, whose words after the # are the query of the list and the study that is open.

import { alarm, announce, button, control, el, fact, frame, goTo, isolated, latestOnly, option } from "./dom.js";
import { Keys } from "./keys.js";
import { columnsControl, drawList, filterForm, offsetOf } from "./list.js";
import { focusError, studySection } from "./study.js";
import { count } from "./words.js";

// A view has a `title`, `notes`, a `signature`, its `overview(app)`, its `listing(app)` and its
// `study(row, app)`; perhaps `params(app)`, what the list is made of: each with a `name`, a `label`,
// its `choices` and a `value`; `top`, `below(app)` and `actions(app)`.
export class App {
  constructor(view) {
    this.view = view;
    this.query = new URLSearchParams();
    Object.assign(this, { study: null, rows: [], marked: null, diff: false, lastOpened: null });
    this.set = (changes) => this.#set(changes).catch(alarm);
    this.reset = () => this.#reset().catch(alarm);
    this.step = (by) => this.#step(by).catch(alarm);
  }

  async start() {
    const { view } = this;
    document.title = view.title;
    this.params = el("div", { class: "controls params" });
    this.form = el("div", {});
    this.columns = el("div", {});
    this.list = el("div", { id: "list" });
    this.home = el("div", {},
      this.params,
      view.overview(this),
      el("section", { id: "studies", "aria-labelledby": "studies-title" },
        el("h2", { id: "studies-title", tabindex: "-1" }, view.listTitle ?? "Studies"),
        this.form, this.columns, this.list),
      view.below?.(this) ?? null);
    this.open = el("div", { hidden: true });
    frame(
      el("header", { class: "top" }, el("h1", {}, isolated(view.title)), view.top ?? [],
        button("Keys", () => this.keys.help(), { class: "quiet", "aria-keyshortcuts": "?" }),
        noteList(view.notes)),
      el("main", { id: "main" }, this.home, this.open),
      el("footer", {}, view.footer ? el("p", { class: "small" }, view.footer) : null,
        el("p", { class: "mono small" }, "Signature: ", isolated(view.signature))));
    this.keys = new Keys(this.actions());
    window.addEventListener("popstate", () => this.route().catch(alarm));
    await this.route();
    view.started?.(this);
  }

  // A parameter as the address has it, or as the view begins.
  param(name) {
    return this.paramOf.get(name).value;
  }

  #drawParams() {
    const all = this.view.params?.(this) ?? [];
    this.paramOf = new Map(all.map((param) => [param.name, param]));
    const focused = document.activeElement?.id;
    const selection = ({ name, label, choices, value }) => control(`param-${name}`, label, el("select", {
      on: { change: ({ target }) => this.set({ [name]: target.value }) },
    }, choices.map((choice) => option(choice.value, choice.label, value))));
    this.params.replaceChildren(...all.filter(({ choices }) => choices.length > 1).map(selection));
    if (focused?.startsWith("param-")) document.getElementById(focused)?.focus();
    return all.map(({ value }) => value).join("\n");
  }

  // The list that the parameters make, with its form; drawn anew where another one is asked for.
  async #prepare() {
    const key = this.#drawParams();
    if (key !== this.madeOf) {
      const listing = await latestOnly(this, "preparing", this.view.listing(this));
      if (!listing) return false;
      Object.assign(this, { listing, madeOf: key, drawn: null });
      this.form.replaceChildren(filterForm(listing, this));
      this.columns.replaceChildren(columnsControl(this));
    }
    return true;
  }

  #readAddress() {
    const query = new URLSearchParams(location.hash.slice(1));
    const id = query.get("study");
    query.delete("study");
    return { query, id };
  }

  addressOf(id) {
    const all = new URLSearchParams(this.query);
    if (id !== null) all.set("study", id);
    return `#${all}`;
  }

  async #set(changes) {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries({ offset: null, ...changes })) {
      if (value === null || value === undefined) query.delete(name);
      else query.set(name, value);
    }
    this.query = query;
    history.replaceState(null, "", this.addressOf(null));
    await this.#draw();
  }

  async #reset() {
    this.query = new URLSearchParams([...this.query].filter(([name]) => this.paramOf.has(name)));
    history.replaceState(null, "", this.addressOf(null));
    await this.#draw();
    this.toList("nearest");
  }

  toList(block = "start") {
    goTo(document.getElementById("studies-title"), block);
  }

  async #draw() {
    if (!await this.#prepare()) return;
    await drawList(this);
    this.drawn = this.query.toString();
  }

  async route() {
    const { query, id } = this.#readAddress();
    this.query = query;
    await this.#prepare();
    const unknown = this.listing.unknown(query, this.paramOf);
    if (unknown.length) {
      alarm(new Error(`This link uses unknown filters (${unknown.join(", ")}); ignored.`));
      this.query = new URLSearchParams([...query].filter(([name]) => !unknown.includes(name)));
      await this.#prepare();
    }
    if (this.drawn !== this.query.toString()) await this.#draw();
    if (id !== null) {
      const row = this.listing.rowOf.get(id);
      if (row !== undefined) return this.show(row);
      alarm(new Error(`There is no ${this.listing.noun.label} ${JSON.stringify(id)} here.`));
      history.replaceState(null, "", this.addressOf(null));
    }
    return this.#showHome();
  }

  async #showHome() {
    const wasOpen = this.study !== null;
    this.study = null;
    this.latest = null;
    this.open.hidden = true;
    this.open.replaceChildren();
    this.home.hidden = false;
    await this.view.returned?.(this);
    if (!wasOpen) return;
    const at = this.rows.indexOf(this.lastOpened);
    if (at >= 0 && !this.list.querySelector(`[data-row="${this.lastOpened}"]`)) {
      this.query.delete("offset");
      if (offsetOf(at)) this.query.set("offset", offsetOf(at));
      history.replaceState(null, "", this.addressOf(null));
    }
    await drawList(this);
    goTo(this.list.querySelector(`[data-row="${this.lastOpened}"]`) ?? document.getElementById("studies-title"), "center");
  }

  // Opens the study of a row.
  async show(row) {
    const study = await latestOnly(this, "opening", this.view.study(row, this));
    if (!study) return;
    this.study = { ...study, row };
    this.lastOpened = row;
    this.home.hidden = true;
    this.open.hidden = false;
    this.redrawStudy();
    window.scrollTo(0, 0);
    document.getElementById("study-title").focus({ preventScroll: true });
  }

  redrawStudy() {
    this.open.replaceChildren(studySection(this.study, this));
  }

  mark(value) {
    this.study.marked = value;
    this.redrawStudy();
    document.getElementById("marks").focus();
  }

  toggleDiff() {
    this.diff = !this.diff;
    this.redrawStudy();
    announce(this.diff ? "Differences from the reference are shown" : "Differences are no longer shown");
  }

  async #step(by) {
    const row = this.rows[this.rows.indexOf(this.study.row) + by];
    if (this.rows.indexOf(this.study.row) < 0 || row === undefined) return;
    history.replaceState(null, "", this.addressOf(this.listing.ids[row]));
    const hadFocus = document.activeElement?.dataset?.next;
    await this.show(row);
    if (hadFocus) this.open.querySelector(`[data-next="${hadFocus}"]:enabled`)?.focus();
  }

  // The card that the keyboard is on, -1 for none, and all of them.
  at() {
    const cards = [...this.open.querySelectorAll(".error")];
    return { cards, at: cards.indexOf(document.activeElement?.closest?.(".error")) };
  }

  move(by) {
    const { cards, at } = this.at();
    if (!cards.length) return;
    const next = at < 0 ? (by > 0 ? 0 : cards.length - 1) : Math.min(cards.length - 1, Math.max(0, at + by));
    focusError(this.open, cards[next].id.slice("error-".length));
  }

  actions() {
    const inStudy = (act) => () => (this.study ? act() : false);
    const search = () => this.form.querySelector("#filter-q, input[type=search]");
    return [
      { keys: "n", text: "next", act: inStudy(() => this.step(1)) },
      { keys: "p", text: "previous", act: inStudy(() => this.step(-1)) },
      { keys: "j ArrowDown", text: "next error", act: inStudy(() => this.move(1)) },
      { keys: "k ArrowUp", text: "previous error", act: inStudy(() => this.move(-1)) },
      { keys: "d", text: "show the differences of reference and candidate", act: inStudy(() => this.toggleDiff()) },
      { keys: "r", text: "raw answer", act: inStudy(() => this.toggleAnswer()) },
      ...(this.view.actions?.(this, inStudy) ?? []),
      { keys: "/", text: "search", act: () => (this.study || !search() ? false : search().focus()) },
      { keys: "Escape", text: "leave a field, back to the list", act: inStudy(() => { location.hash = this.addressOf(null); }) },
      { keys: "?", text: "this help", act: () => this.keys.help() },
    ];
  }

  toggleAnswer() {
    const details = this.open.querySelector("details.answer");
    if (!details) return;
    details.open = !details.open;
    if (details.open) details.scrollIntoView({ block: "nearest" });
  }
}

// The first note in sight, the rest below it.
function noteList([first, ...rest]) {
  const note = (text) => el("p", { class: "note", role: "note" }, isolated(text));
  if (first === undefined) return null;
  return el("div", { class: "line" }, note(first),
    rest.length ? el("details", {}, el("summary", { class: "small" }, count(rest.length, "more note")), rest.map(note)) : null);
}

// Names and their values at the head of a page.
export function factList(facts) {
  return el("dl", { class: "facts" }, facts.map(({ name, value }) => fact(name, isolated(value))));
}

// Drawn figures, all of them loaded at once, so that print has them too.
export function figuresSection(figures, addressOf) {
  return el("section", { id: "figures", "aria-labelledby": "figures-title" },
    el("h2", { id: "figures-title" }, "Figures"),
    figures.length ? el("div", { class: "figures" }, figures.map((figure, at) => {
      const image = el("img", { alt: `${figure.title}. ${figure.caption}`, class: "drawn", "data-figure": String(at) });
      const link = el("a", { class: "small copy", download: `${figure.title}.svg` }, "Save as SVG");
      addressOf(at).then((address) => { image.src = link.href = address; }, alarm);
      return el("figure", { class: "figure" }, el("h3", {}, isolated(figure.title)), image,
        el("figcaption", { class: "small" }, isolated(figure.caption)), link);
    })) : el("p", { class: "small" }, "None: the extra figures, which draws them, is not installed."));
}

