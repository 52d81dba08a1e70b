// A page of results: its overview, the list of its studies, and one study. All of it follows the
// address: after the # are the query of the list and the study that is open.

import { alarm, announce, button, control, el, fact, find, frame, goTo, isolated, latestOnly, option, printedTable } from "./dom.js";
import { count } from "./format.js";
import { Keys } from "./keys.js";
import { columnsControl, drawList, filterForm, offsetOf } from "./list.js";
import { figureAddress } from "./load.js";
import { focusError, studySection } from "./study.js";

// A view has a `title`, `notes`, a `signature`, its `overview(app)`, its `listing(app)` and its
// `study(row, app)`; perhaps `params(app)`, on which the list depends, each with a `name`, a
// `label`, its `choices` and a `value`; `top`, `below(app)` and `actions(app)`.
export class App {
  constructor(view) {
    this.view = view;
    this.query = new URLSearchParams();
    /** @type {any} */
    this.study = null;
    this.rows = [];
    this.diff = false;
    this.lastOpened = null;
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
      view.below?.(this));
    this.open = el("div", { hidden: true });
    frame(
      el("header", { class: "top" }, el("h1", {}, isolated(view.title)), view.top,
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

  // The value of a parameter: that of the address, or the view's first.
  param(name) {
    return this.paramOf.get(name).value;
  }

  #drawParams() {
    const params = this.view.params?.(this) ?? [];
    this.paramOf = new Map(params.map((param) => [param.name, param]));
    const focused = document.activeElement?.id;
    this.params.replaceChildren(...params.filter(({ choices }) => choices.length > 1).map(({ name, label, choices, value }) => {
      const change = ({ target }) => this.set({ [name]: target.value });
      return control(`param-${name}`, label, el("select", { on: { change } },
        choices.map((choice) => option(choice.value, choice.label, value))));
    }));
    if (focused?.startsWith("param-")) document.getElementById(focused)?.focus();
    return params.map(({ value }) => value).join("\n");
  }

  // The list that the parameters make, with its form; false where a newer one is being made.
  async #prepare() {
    const key = this.#drawParams();
    if (key === this.madeOf) return true;
    const listing = await latestOnly(this, "preparing", this.view.listing(this));
    if (!listing) return false;
    this.listing = listing;
    this.madeOf = key;
    this.drawn = null;
    this.form.replaceChildren(filterForm(listing, this));
    this.columns.replaceChildren(columnsControl(this));
    return true;
  }

  addressOf(id) {
    const all = new URLSearchParams(this.query);
    if (id !== null) all.set("study", id);
    return `#${all}`;
  }

  #replaceAddress(id = null) {
    history.replaceState(null, "", this.addressOf(id));
  }

  async #set(changes) {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries({ offset: null, ...changes })) {
      if (value === null || value === undefined) query.delete(name);
      else query.set(name, value);
    }
    this.query = query;
    this.#replaceAddress();
    await this.#draw();
  }

  async #reset() {
    this.query = new URLSearchParams([...this.query].filter(([name]) => this.paramOf.has(name)));
    this.#replaceAddress();
    await this.#draw();
    this.toList("nearest");
  }

  toList(block = "start") {
    goTo(find("#studies-title"), block);
  }

  async #draw() {
    if (!await this.#prepare()) return;
    await drawList(this);
    this.drawn = this.query.toString();
  }

  async route() {
    const query = new URLSearchParams(location.hash.slice(1));
    const id = query.get("study");
    query.delete("study");
    this.query = query;
    await this.#prepare();
    const faults = this.listing.faults(query, this.paramOf);
    if (faults.size) {
      alarm(new Error(`A part of this link is ignored: ${[...faults.values()].join("; ")}.`));
      this.query = new URLSearchParams([...query].filter(([name]) => !faults.has(name)));
      await this.#prepare();
    }
    if (this.drawn !== this.query.toString()) await this.#draw();
    if (id !== null) {
      const row = this.listing.rowOf.get(id);
      if (row !== undefined) return this.show(row);
      alarm(new Error(`There is no ${this.listing.noun.label} ${JSON.stringify(id)} here.`));
      this.#replaceAddress();
    }
    return this.#showHome();
  }

  async #showHome() {
    const wasOpen = this.study !== null;
    this.study = null;
    this.open.hidden = true;
    this.open.replaceChildren();
    this.home.hidden = false;
    await this.view.returned?.(this);
    if (!wasOpen) return;
    const link = () => find(`[data-row="${this.lastOpened}"]`, this.list);
    const place = this.rows.indexOf(this.lastOpened);
    if (place >= 0 && !link()) {
      this.query.delete("offset");
      if (offsetOf(place)) this.query.set("offset", String(offsetOf(place)));
      this.#replaceAddress();
    }
    await drawList(this);
    goTo(link() ?? find("#studies-title"), "center");
  }

  async show(row) {
    const study = await latestOnly(this, "opening", this.view.study(row, this));
    if (!study) return;
    this.study = { ...study, row };
    this.lastOpened = row;
    this.home.hidden = true;
    this.open.hidden = false;
    this.redrawStudy();
    window.scrollTo(0, 0);
    find("#study-title").focus({ preventScroll: true });
  }

  redrawStudy() {
    this.open.replaceChildren(studySection(this.study, this));
  }

  mark(value) {
    this.study.marked = value;
    this.redrawStudy();
    find("#marks").focus();
  }

  toggleDiff() {
    this.diff = !this.diff;
    this.redrawStudy();
    announce(this.diff ? "Differences from the reference are shown" : "Differences are hidden");
  }

  async #step(by) {
    const place = this.rows.indexOf(this.study.row);
    const row = this.rows[place + by];
    if (place < 0 || row === undefined) return;
    this.#replaceAddress(this.listing.ids[row]);
    const next = /** @type {any} */ (document.activeElement)?.dataset?.next;
    await this.show(row);
    if (next) find(`[data-next="${next}"]:enabled`, this.open)?.focus();
  }

  // The cards of the study's errors, and the index of the one in focus, -1 for none.
  cards() {
    const cards = [...this.open.querySelectorAll(".error")];
    return { cards, focused: cards.indexOf(document.activeElement?.closest?.(".error")) };
  }

  move(by) {
    const { cards, focused } = this.cards();
    if (!cards.length) return;
    const first = by > 0 ? 0 : cards.length - 1;
    const next = focused < 0 ? first : Math.min(cards.length - 1, Math.max(0, focused + by));
    focusError(this.open, cards[next].id.slice("error-".length));
  }

  actions() {
    const inStudy = (act) => () => (this.study ? act() : false);
    const search = () => find("#filter-q, input[type=search]", this.form);
    return [
      { keys: "n", text: "next", act: inStudy(() => this.step(1)) },
      { keys: "p", text: "previous", act: inStudy(() => this.step(-1)) },
      { keys: "j ArrowDown", text: "next error", act: inStudy(() => this.move(1)) },
      { keys: "k ArrowUp", text: "previous error", act: inStudy(() => this.move(-1)) },
      { keys: "d", text: "show the differences of reference and candidate", act: inStudy(() => this.toggleDiff()) },
      { keys: "r", text: "raw answer, and what was asked", act: inStudy(() => this.toggleAnswer()) },
      ...(this.view.actions?.(this, inStudy) ?? []),
      { keys: "/", text: "search", act: () => (this.study || !search() ? false : search().focus()) },
      { keys: "Escape", text: "leave a field, back to the list", act: inStudy(() => { location.hash = this.addressOf(null); }) },
      { keys: "?", text: "this help", act: () => this.keys.help() },
    ];
  }

  toggleAnswer() {
    const details = find("details.answer", this.open);
    if (!details) return;
    details.open = !details.open;
    if (details.open) details.scrollIntoView({ block: "nearest" });
  }
}

// The first note in sight, the rest folded.
function noteList([first, ...rest]) {
  const note = (text) => el("p", { class: "note", role: "note" }, isolated(text));
  if (first === undefined) return null;
  return el("div", { class: "line" }, note(first),
    rest.length ? el("details", {}, el("summary", { class: "small" }, count(rest.length, "more note")), rest.map(note)) : null);
}

// Facts and printed tables, of which the first `nOpen` are in sight.
export function summarySection(id, title, facts, tables, nOpen, ...more) {
  const folded = tables.slice(nOpen);
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title), factList(facts), tables.slice(0, nOpen).map(printedTable),
    folded.length ? el("details", {}, el("summary", {}, `More tables: ${folded.map((table) => table.title).join("; ")}`),
      folded.map(printedTable)) : null,
    ...more);
}

export function factList(facts) {
  return el("dl", { class: "facts" }, facts.map(({ name, value }) => fact(name, isolated(value))));
}

// Drawn figures, all loaded at once, so that print has them too.
export function figuresSection(figures) {
  return el("section", { id: "figures", "aria-labelledby": "figures-title" },
    el("h2", { id: "figures-title" }, "Figures"),
    figures.length ? el("div", { class: "figures" }, figures.map(({ title, caption }, number) => {
      const image = el("img", { alt: `${title}. ${caption}`, class: "drawn", "data-figure": String(number) });
      const link = el("a", { class: "small copy", download: `${title}.svg` }, "Save as SVG");
      figureAddress(number).then((address) => { image.src = link.href = address; }, alarm);
      return el("figure", { class: "figure" }, el("h3", {}, isolated(title)), image,
        el("figcaption", { class: "small" }, isolated(caption)), link);
    })) : el("p", { class: "small" }, "None: the extra figures, which draws them, is not installed."));
}
