// The page of a run: its headline and figures, the list, the studies.

import { App } from "./app.js";
import { clipped, button, el, factList, isolated, printedTable } from "./dom.js";
import { NO_VALUE, capital, itemLabels, number, rate } from "./format.js";
import { Reader } from "./keys.js";
import { Listing, choiceFilter, rangeFilters, textFilter } from "./list.js";
import { ask, load } from "./load.js";
import { Review } from "./review.js";

const MAX_CHOICES = 12;

export async function runPage(run, reader) {
  const [overview, index] = await Promise.all([load("overview"), load("index")]);
  const view = new RunView(overview, index, run);
  if (run) {
    view.reader = new Reader(reader ?? "", "Who is reviewing?", "verdict");
    await view.readReviews();
  }
  await new App(view).start();
}

class RunView {
  constructor(overview, { columns, order, packet }, run) {
    this.data = overview;
    this.index = columns;
    this.packet = packet;
    this.run = run;
    this.base = run ? `/v1/runs/${encodeURIComponent(run)}` : null;
    this.title = overview.title;
    this.signature = overview.signature;
    this.notes = overview.judge.note ? [overview.judge.note] : [];
    this.labels = itemLabels(overview.rubric);
    // A score whose values are all whole in this run is printed so.
    const isWhole = ({ name }) => columns[name].every((value) => value === null || Number.isInteger(value));
    this.whole = new Set(overview.rubric.scores.filter(isWhole).map(({ name }) => name));
    this.rank = new Int32Array(order.length);
    order.forEach((row, rank) => { this.rank[row] = rank; });
    this.reviews = new Uint32Array(order.length);
    this.readers = el("div", { id: "readers" });
    /** @type {string[] | null} */
    this.texts = null;
    /** @type {any} */
    this.reader = null;
  }

  score(name, value) {
    return number(value, this.whole.has(name) ? 0 : 3);
  }

  get top() {
    if (!this.base) return null;
    const who = el("span", { class: "small" });
    const draw = () => {
      const { name } = this.reader;
      who.replaceChildren(name ? el("span", {}, "Reviewing as ", isolated(name), " ") : "",
        button(name ? "Change" : "Who is reviewing?", () => this.reader.ask(), { class: "quiet" }));
    };
    draw();
    document.addEventListener("reader", draw);
    // Only a rubric with a table of items can be read on the blind page.
    const blind = this.data.figures.tally ? el("a", { href: `/read?${new URLSearchParams({ run: this.run })}` }, "Read blind") : null;
    return [el("a", { href: "/" }, "All runs"), blind, who];
  }

  overview() {
    const { headline, n_scored: scored, n_studies: n, figures, facts, tables } = this.data;
    const left = scored === n ? "all" : `of ${n.toLocaleString("en")}; ${(n - scored).toLocaleString("en")} not scored`;
    return el("section", { "aria-label": "The run" },
      el("div", { class: "tiles" },
        headline.map(({ label, text, interval }) => tile(label, text, interval ? `95% CI ${interval}` : "")),
        tile("scored studies", scored.toLocaleString("en"), left)),
      el("div", { class: "figures" }, figures.rates.map(ratesFigure), figures.tally ? tallyFigure(figures.tally, this.labels) : null),
      this.readers,
      el("details", {}, el("summary", {}, "Details: facts, tables, downloads"),
        factList(facts.map(({ name, value }) => [name, isolated(value)])), tables.map(printedTable),
        this.base ? el("p", {}, "This run as ", ["csv", "parquet", "jsonl"].map((form, at) => [at ? ", " : "",
          el("a", { href: `${this.base}/results?format=${form}`, download: "" }, form.toUpperCase())])) : null));
  }

  async readReviews() {
    const { events, shown } = await ask(`${this.base}/reviews`);
    const rowOf = new Map(this.index.study_id.map((id, row) => [id, row]));
    this.reviews.fill(0);
    for (const { study_id: id, stale } of events) if (!stale && rowOf.has(id)) this.reviews[rowOf.get(id)] += 1;
    this.readers.replaceChildren(readersSection(shown, events.length));
  }

  // The list is seen again: verdicts may have been recorded.
  async returned() {
    if (this.base) await this.readReviews();
  }

  listing() {
    const { data: { columns, filters, rubric }, index } = this;
    const column = (name) => (row) => index[name][row];
    const choice = (name, label, choices, of, more = false) =>
      choiceFilter(name, label, choices, (row) => String(index[of][row] ?? ""), more);
    const classes = filters.classes && [...filters.classes, ...(filters.no_class ? [{ value: "", label: "(none)" }] : [])];
    return new Listing({
      ids: index.study_id,
      order: this.rank,
      ordered: "worst first",
      columns: columns.map((entry) => ({ ...entry, value: column(entry.name), draw: this.#drawing(entry) })),
      filters: [
        classes ? choice("class", "Class", classes, "study_class") : textFilter("class", "Class", column("study_class")),
        ...filters.labels.map((name) => this.#labelFilter(name)),
        choice("outcome", "Outcome", filters.outcomes, "outcome"),
        ...(this.base ? [choiceFilter("reviewed", "Reviewed", ["yes", "no"], (row) => (this.reviews[row] ? "yes" : "no"))] : []),
        ...rubric.scores.flatMap(({ name, label }) => rangeFilters(name, label, column(name))),
        ...filters.fields.map(({ name, values }) => (values
          ? choice(`field.${name}`, name, values, name, values.length > MAX_CHOICES || values.length < 2)
          : textFilter(`has.${name}`, name, column(name), true))),
      ],
      search: (text) => this.#search(text),
    });
  }

  // By the labels of a facet that one item of a study has together with the other labels chosen.
  #labelFilter(name) {
    const { counts, labels } = this.data.filters;
    const facet = this.labels.facet(name);
    const choices = facet.labels.map(({ name: value, text }) => ({ value, label: text }));
    const test = (_, query) => {
      const chosen = labels.filter((other) => query.has(other));
      const fitting = counts.filter((measure) => chosen.every((other) => measure.labels[other] === query.get(other)));
      // Those of the fewest further facets count the items together.
      const nLabels = (measure) => Object.keys(measure.labels).length;
      const least = Math.min(...fitting.map(nLabels));
      const measures = fitting.filter((measure) => nLabels(measure) === least).map(({ name: measure }) => this.index[measure]);
      return (row) => measures.some((n) => n[row] > 0);
    };
    return { name, label: capital(facet.label), choices, test };
  }

  #drawing({ name, kind, tone }) {
    const value = (row) => this.index[name][row];
    return {
      id: (row) => (this.reviews[row] ? el("span", { class: "reviewed" }, " ✓", el("span", { class: "unseen" }, "reviewed")) : null),
      score: (row) => this.score(name, value(row)),
      count: (row) => (value(row) ? el("span", { class: tone ? `pill tone-${tone}` : "pill" }, String(value(row))) : String(value(row) ?? "")),
      codes: (row) => codesOf(value(row), this.labels.codes).map(({ name: code, text }) => el("abbr", { title: text }, code)),
      outcome: (row) => (value(row) === "scored" ? value(row) : el("strong", {}, isolated([value(row), this.index.reason[row]].filter(Boolean).join(": ")))),
      class: (row) => isolated(value(row) ?? "(none)"),
    }[kind];
  }

  async #search(text) {
    if (this.base) return new Set((await ask(`${this.base}/search?${new URLSearchParams({ q: text })}`)).rows);
    if (!this.texts) {
      const packets = Array.from({ length: Math.ceil(this.rank.length / this.packet) }, (_, at) => load(`packet-${at}`));
      this.texts = (await Promise.all(packets)).flat().map((view) => searched(view).toLowerCase());
    }
    const words = text.toLowerCase().split(/\s+/);
    return new Set([...this.texts.keys()].filter((row) => words.every((word) => this.texts[row].includes(word))));
  }

  async study(row) {
    const { scores, checks } = this.data.rubric;
    const [packet, place] = [Math.floor(row / this.packet), row % this.packet];
    const { view: record, ...more } = this.base ? await ask(`${this.base}/study?${new URLSearchParams({ row })}`)
      : { view: (await load(`packet-${packet}`))[place] };
    const measured = ({ name, label, unit, undefined: why }) => [label, record.measures[name] === null ? `undefined (${why})`
      : [this.score(name, record.measures[name]), unit].filter(Boolean).join(" ")];
    this.review = this.base ? new Review({ record, ...more, labels: this.labels }, this) : null;
    return {
      id: record.study_id,
      facts: [
        ["class", isolated((record.study_class ?? "(none)") + (record.class_inferred ? " (inferred)" : ""))],
        ...(record.measures ? [...scores, ...checks].map(measured) : []),
        ...Object.entries(record.fields).map(([name, value]) => [name, clipped(String(value))]),
      ],
      review: this.review,
      columns: [{
        key: "", letter: "", record, labels: this.labels, review: this.review,
        asked: this.data.has_prompt ? async () => more.asked ?? (await load(`asked-${packet}`))[place] : null,
      }],
    };
  }

  keys(app, inStudy) {
    if (!this.base) return [];
    document.addEventListener("reader", () => app.study && this.review.redraw());
    const verdict = (word) => inStudy(() => {
      // Where no error is chosen yet the first is meant.
      if (app.cards().focused < 0) app.move(1);
      return app.cards().cards.length && this.review.judge(Math.max(0, app.cards().focused), word);
    });
    return [
      { key: "A", text: "agree: the error is right; again to withdraw", act: verdict("right") },
      { key: "D", text: "disagree: the error is wrong", act: verdict("wrong") },
      { key: "S", text: "right, but the wrong significance", act: verdict("wrong_severity") },
    ];
  }
}

// The text that a search looks through: that of `search_text` in the service.
function searched(view) {
  const parts = [view.study_id, ...Object.values(view.fields)];
  for (const side of [view.reference, view.candidate]) parts.push(side.map(({ text }) => text).join(""));
  for (const item of view.items) parts.push(item.text, item.edit?.corrected);
  parts.push(...view.lists.flatMap(({ texts }) => texts), view.explanation, view.reason, view.detail);
  return parts.filter((part) => part !== "" && part !== null && part !== undefined).join("\n");
}

// Codes of one letter are written without a space: `abd`.
function codesOf(value, facet) {
  const isShort = facet.labels.every(({ name }) => name.length === 1);
  const names = isShort ? [...value] : value.split(", ").filter(Boolean);
  return names.map((name) => facet.labelOf.get(name));
}

function tile(name, value, more) {
  return el("div", { class: "tile" }, el("p", {}, name), el("p", { class: "tile-value" }, value), el("p", { class: "small" }, more));
}

// A figure of boxes; every number in it is also written out. A row has a name, its parts, each with
// a `share` and a `tone`, perhaps a `whisker`, and the text.
function barsFigure(title, rows, ...more) {
  return el("figure", { class: "figure" }, el("figcaption", {}, title), more,
    el("ul", { class: "bars" }, rows.map(({ name, parts, whisker, text }) => el("li", {},
      el("span", {}, isolated(name)),
      el("span", { class: "track", "aria-hidden": "true" },
        parts.map(({ share, tone }) => el("span", { class: `part tone-${tone}`, style: { width: `${100 * share}%` } })),
        whisker ? el("span", { class: "whisker", style: { left: `${100 * whisker.low}%`, width: `${100 * (whisker.high - whisker.low)}%` } }) : null),
      el("span", { class: "small" }, text)))));
}

function ratesFigure({ label, definition, rows }) {
  return barsFigure(`Studies with ${label}`, rows.map((row) => ({
    name: row.group, text: rate(row), whisker: row.value === null ? null : row,
    parts: row.value === null ? [] : [{ share: row.value, tone: "notable" }],
  })), el("p", { class: "small" }, `${definition ? `${label}: ${definition}. ` : ""}Share of scored studies with its 95% Wilson interval.`));
}

function tallyFigure({ title, rows, columns, counts }, labels) {
  const [facet, parts] = [labels.facet(rows), labels.facet(columns).labels];
  const totals = counts.map(({ n }) => parts.reduce((sum, { name }) => sum + n[name], 0));
  const byPart = (n) => parts.filter(({ name }) => n[name]).map(({ name, label }) => `${label}: ${n[name]}`).join("; ");
  return barsFigure(`${title} and ${labels.facet(columns).label}`, counts.map(({ name, n }) => ({
    name: facet.labelOf.get(name).text,
    parts: parts.map((part) => ({ share: n[part.name] / Math.max(1, ...totals), tone: part.tone })),
    text: byPart(n) || (parts.every(({ name: part }) => n[part] === null) ? NO_VALUE : "0"),
  })), el("ul", { class: "legend" }, parts.map(({ label, tone }) =>
    el("li", {}, el("span", { class: `swatch tone-${tone}`, "aria-hidden": "true" }), label))));
}

// What readers said of the judge's errors: precision, and the agreement of the readers.
function readersSection({ sentence, tables, notes }, isReviewed) {
  if (!isReviewed) return el("p", { class: "small" }, "No error of this run has been reviewed yet.");
  return el("div", {}, el("h3", {}, "Reviews"), el("p", {}, isolated(sentence)), tables.map((table) =>
    [printedTable(table), table.note ? el("p", { class: "small" }, isolated(table.note)) : null]),
  notes.map((note) => el("p", { class: "small" }, isolated(note))));
}
