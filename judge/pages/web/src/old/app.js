// A page of results: its overview, the list of its studies, and one study. All of it follows the
// address: after the # are the query of the list and the study that is open.

import { alarm, announce, control, el, find, frame, goTo, isolated, latestOnly, option, redraw } from "./dom.js";
import { Keys } from "./keys.js";
import { drawList, filterForm } from "./list.js";
import { figureAddress } from "./load.js";
import { focusError, studySection } from "./study.js";

// A view has a `title`, `notes`, a `signature`, its `overview(app)`, its `listing(app)` and its
// `study(row, app)`; perhaps `params(app)`, on which the list depends, each with a `name`, a
// `label`, its `choices` and a `value`; `top`, `below(app)`, `footer` and `keys(app, inStudy)`.
export class App {
  constructor(view) {
    this.view = view;
    this.query = new URLSearchParams();
    /** @type {any} */
    this.study = null;
    this.rows = [];
    this.isDiff = false;
    this.lastOpened = null;
  }

  async start() {
    const { view } = this;
    document.title = view.title;
    this.params = el("div", { class: "controls params" });
    this.form = el("div", {});
    this.list = el("div", { id: "list" });
    this.home = el("div", {}, this.params, view.overview(this),
      el("section", { id: "studies", "aria-labelledby": "studies-title" },
        el("h2", { id: "studies-title", tabindex: "-1" }, view.listTitle ?? "Studies"), this.form, this.list),
      view.below?.(this));
    this.open = el("div", { hidden: true });
    const keys = new Keys(this.#actions());
    frame(
      el("header", { class: "top" }, el("h1", {}, isolated(view.title)), view.top, keys.button(),
        view.notes.map((text) => el("p", { class: "note", role: "note" }, isolated(text)))),
      el("main", { id: "main" }, this.home, this.open),
      el("footer", {}, view.footer ? el("p", { class: "small" }, view.footer) : null,
        el("p", { class: "mono small" }, "Signature: ", isolated(view.signature))));
    window.addEventListener("popstate", () => this.route());
    await this.route();
  }

  // The value of a parameter: that of the address, or the view's first.
  param(name) {
    return this.paramOf.get(name).value;
  }

  // Draws the choices of the parameters; returns their values as a key.
  #drawParams() {
    const params = this.view.params?.(this) ?? [];
    this.paramOf = new Map(params.map((param) => [param.name, param]));
    redraw(this.params, params.filter(({ choices }) => choices.length > 1).map(({ name, label, choices, value }) => {
      const change = ({ target }) => this.set({ [name]: target.value });
      return control(`param-${name}`, label, el("select", { "data-act": name, on: { change } },
        choices.map((choice) => option(choice.value, choice.label, value))));
    }));
    return params.map(({ value }) => value).join("\n");
  }

  addressOf(id) {
    const all = new URLSearchParams(this.query);
    if (id !== null) all.set("study", id);
    return `#${all}`;
  }

  #replaceAddress(id = null) {
    history.replaceState(null, "", this.addressOf(id));
  }

  async set(changes) {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries({ offset: null, ...changes })) {
      if (value === null) query.delete(name);
      else query.set(name, value);
    }
    this.query = query;
    this.#replaceAddress();
    await this.#draw();
  }

  async reset() {
    this.query = new URLSearchParams([...this.query].filter(([name]) => this.paramOf.has(name)));
    this.#replaceAddress();
    await this.#draw();
    goTo(find("#studies-title"), "nearest");
  }

  // The list that the parameters make, with its form, as the query has it.
  async #draw() {
    const key = this.#drawParams();
    if (key !== this.madeOf) {
      const listing = await latestOnly(this, "preparing", this.view.listing(this));
      if (!listing) return;
      this.listing = listing;
      this.madeOf = key;
      this.filters = filterForm(listing, this);
      this.form.replaceChildren(this.filters.form);
    }
    const rows = await latestOnly(this, "filtering", this.listing.rows(this.query));
    if (!rows) return;
    this.rows = rows;
    this.drawn = this.query.toString();
    this.filters.show(this.query);
    drawList(this);
  }

  async route() {
    const query = new URLSearchParams(location.hash.slice(1));
    const id = query.get("study");
    query.delete("study");
    this.query = query;
    if (this.drawn !== query.toString()) await this.#draw();
    const row = this.listing.rowOf.get(id);
    if (row !== undefined) return this.show(row);
    if (id !== null) {
      alarm(new Error(`There is no ${this.listing.noun.label} ${JSON.stringify(id)} here.`));
      this.#replaceAddress();
    }
    if (this.study === null) return undefined;
    this.study = null;
    this.open.hidden = true;
    this.home.hidden = false;
    await this.view.returned?.(this);
    await this.#draw();
    return goTo(find(`[data-act="row ${this.lastOpened}"]`, this.list) ?? find("#studies-title"), "center");
  }

  async show(row) {
    const study = await latestOnly(this, "opening", this.view.study(row, this));
    if (!study) return;
    this.study = { ...study, row };
    this.lastOpened = row;
    this.home.hidden = true;
    this.open.hidden = false;
    this.drawStudy();
    window.scrollTo(0, 0);
    find("#study-title").focus({ preventScroll: true });
  }

  drawStudy() {
    redraw(this.open, studySection(this.study, this));
  }

  toggleDiff() {
    this.isDiff = !this.isDiff;
    this.drawStudy();
    announce(this.isDiff ? "Differences from the reference are shown" : "Differences are hidden");
  }

  async step(by) {
    const row = this.rows[this.rows.indexOf(this.study.row) + by];
    if (row === undefined) return;
    this.#replaceAddress(this.listing.ids[row]);
    await this.show(row);
  }

  // The cards of the study's errors, and the index of the one in focus, -1 for none.
  cards() {
    const cards = [...this.open.querySelectorAll(".error")];
    return { cards, focused: cards.indexOf(document.activeElement?.closest?.(".error")) };
  }

  move(by) {
    const { cards, focused } = this.cards();
    const next = cards[focused < 0 ? 0 : Math.min(cards.length - 1, Math.max(0, focused + by))];
    if (next) focusError(this.open, next.id.slice("error-".length));
  }

  #actions() {
    const inStudy = (act) => () => (this.study ? act() : false);
    const back = () => { location.hash = this.addressOf(null); };
    return [
      { key: "n", text: "next", act: inStudy(() => this.step(1)) },
      { key: "p", text: "previous", act: inStudy(() => this.step(-1)) },
      { key: "j", text: "next error", act: inStudy(() => this.move(1)) },
      { key: "k", text: "previous error", act: inStudy(() => this.move(-1)) },
      { key: "d", text: "show the differences of reference and candidate", act: inStudy(() => this.toggleDiff()) },
      ...(this.view.keys?.(this, inStudy) ?? []),
      { key: "Escape", text: "leave a field, back to the list", act: inStudy(back) },
    ];
  }
}

// Drawn figures, all loaded at once, so that print has them too.
export function figuresSection(figures) {
  return el("section", { id: "figures", "aria-labelledby": "figures-title" },
    el("h2", { id: "figures-title" }, "Figures"),
    figures.length ? el("div", { class: "figures" }, figures.map(({ title, caption }, number) => {
      const image = el("img", { alt: title, class: "drawn" });
      figureAddress(number).then((address) => { image.src = address; });
      return el("figure", { class: "figure" }, image, el("figcaption", { class: "small" }, isolated(caption)));
    })) : el("p", { class: "small" }, "None: the extra figures, which draws them, is not installed."));
}
