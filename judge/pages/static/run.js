// The page of a run: its headline, figures whose bars filter the list, the list, the studies.

import { App, factList } from "./app.js";
import { alarm, button, clipped, el, find, isolated, printedTable } from "./dom.js";
import { NO_VALUE, capital, count, itemLabels, number, rate } from "./format.js";
import { Reader } from "./keys.js";
import { Listing, choiceFilter } from "./list.js";
import { ask, isFile, load, loadPacket } from "./load.js";
import { Review } from "./review.js";
import { pill } from "./study.js";

const MAX_CHOICES = 12;

export async function runPage(run, reader) {
  const [overview, index] = await Promise.all([load("overview"), load("index")]);
  const view = new RunView(overview, index, run);
  if (run) {
    view.reader = new Reader(reader ?? "", "Who is reviewing?", "verdict");
    await view.readReviews();
  }
  await new App(view).start();
  // The search is prepared in the background.
  if (isFile()) setTimeout(() => view.readTexts().catch(alarm));
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
    this.whole = new Set(overview.figures.scores.filter(({ whole }) => whole).map(({ name }) => name));
    this.rank = new Int32Array(order.length);
    order.forEach((row, rank) => { this.rank[row] = rank; });
    this.reviews = new Uint32Array(order.length);
    this.texts = [];
    this.reading = null;
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

  overview(app) {
    const { data } = this;
    const { n_scored: scored, n_studies: n, figures } = data;
    this.readers = el("div", { id: "readers" });
    this.drawReaders();
    return el("section", { id: "overview", "aria-labelledby": "overview-title" },
      el("h2", { id: "overview-title", class: "unseen" }, "The run"),
      el("div", { class: "tiles" }, data.headline.map(tile),
        el("div", { class: "tile" }, el("p", { class: "tile-name" }, "scored studies"),
          el("p", { class: "tile-value" }, scored.toLocaleString("en")),
          el("p", { class: "small" }, scored === n ? "all" : `of ${n.toLocaleString("en")}; ${(n - scored).toLocaleString("en")} not scored`))),
      el("div", { class: "figures" },
        figures.rates.map((rates) => ratesFigure(rates, app)),
        figures.scores.map((histogram) => scoresFigure(histogram, app)),
        figures.tally ? tallyFigure(figures.tally, this.labels, app) : null),
      this.readers,
      el("details", {}, el("summary", {}, "Details: facts, tables, downloads"),
        factList(data.facts),
        data.tables.map(printedTable),
        this.base ? el("p", {}, "This run as ", ["csv", "parquet", "jsonl"].map((form, at) => [at ? ", " : "",
          el("a", { href: `${this.base}/results?format=${form}`, download: "" }, form.toUpperCase())])) : null));
  }

  async readReviews() {
    const { events, statistics } = await ask(`${this.base}/reviews`);
    this.statistics = statistics;
    const rowOf = new Map(this.index.study_id.map((id, row) => [id, row]));
    this.reviews.fill(0);
    for (const { study_id: id } of events) if (rowOf.has(id)) this.reviews[rowOf.get(id)] += 1;
    this.list?.forget();
  }

  // A verdict was recorded: its statistics are loaded when they are next seen.
  reviewed() {
    this.isStale = true;
  }

  async returned() {
    if (!this.isStale) return;
    this.isStale = false;
    await this.readReviews();
    this.drawReaders();
  }

  drawReaders() {
    if (this.base) this.readers.replaceChildren(readersSection(this.statistics, this.labels));
  }

  listing() {
    const { data, index } = this;
    const { filters, rubric } = data;
    const column = (name) => (row) => index[name][row];
    const choice = (name, label, choices, of, more = false) =>
      choiceFilter(name, label, choices, (row) => String(index[of][row] ?? ""), more);
    const classes = filters.classes && [...filters.classes, ...(filters.no_class ? [{ value: "", label: "(none)" }] : [])];
    this.list = new Listing({
      key: rubric.name,
      ids: index.study_id,
      order: this.rank,
      ordered: "worst first",
      columns: data.columns.map((entry) => ({ ...entry, value: column(entry.name), draw: this.#drawing(entry) })),
      filters: [
        classes ? choice("class", "Class", classes, "study_class")
          : { name: "class", label: "Class", kind: "text", value: column("study_class") },
        ...filters.labels.map((name) => this.#labelFilter(name)),
        choice("outcome", "Outcome", filters.outcomes, "outcome"),
        ...(this.base ? [choiceFilter("reviewed", "Reviewed", ["yes", "no"], (row) => (this.reviews[row] ? "yes" : "no"))] : []),
        ...rubric.scores.filter(({ name }) => filters.scores[name]).map(({ name, label }) =>
          ({ name, label, kind: "range", value: column(name), ...filters.scores[name], more: true })),
        ...filters.fields.map(({ name, values }) => (values
          ? choice(`field.${name}`, name, values, name, values.length > MAX_CHOICES || values.length < 2)
          : { name: `has.${name}`, label: name, kind: "text", value: column(name), more: true })),
      ],
      searched: "Search in ids, reports, errors",
      search: (text) => this.#search(text),
      snippet: (row) => this.texts[row] ?? "",
    });
    return this.list;
  }

  // By the labels of a facet that one item of a study has together with the other labels chosen.
  #labelFilter(name) {
    const { filters } = this.data;
    const choices = this.labels.facet(name).labels.map(({ name: value, text }) => ({ value, label: text }));
    const values = (query) => {
      const others = filters.labels.filter((other) => other !== name && query.get(other)).map((other) => [other, query.get(other)]);
      const columns = choices.map(({ value }) => [value, counting(filters.counts, [...others, [name, value]]).map((measure) => this.index[measure.name])]);
      return (row) => columns.filter(([, counts]) => counts.some((n) => n[row] > 0)).map(([value]) => value);
    };
    return { name, label: capital(this.labels.facet(name).label), kind: "choice", choices, values };
  }

  #drawing({ name, kind, tone, whole }) {
    const value = (row) => this.index[name][row];
    return {
      id: (row) => (this.reviews[row] ? el("span", { class: "reviewed", title: "reviewed" }, " ✓", el("span", { class: "unseen" }, "reviewed")) : null),
      score: (row) => this.score(name, value(row)),
      count: (row) => (value(row) === null ? "" : pill(value(row), tone)),
      codes: (row) => el("span", {}, codesOf(value(row), this.labels.codes).map(({ name: code, text }) => el("abbr", { title: text }, code))),
      other: (row) => (value(row) === null ? "" : number(value(row), whole ? 0 : 3)),
      outcome: (row) => (value(row) === "annotated" ? value(row) : el("strong", {}, isolated([value(row), this.index.reason[row]].filter(Boolean).join(": ")))),
      class: (row) => isolated(value(row) ?? "(none)"),
    }[kind];
  }

  // While one packet is read, the next is unpacked.
  readTexts() {
    this.reading ??= (async () => {
      let next = 0;
      const read = async () => {
        while (next < this.rank.length) {
          const first = next;
          next += this.packet;
          const views = await load(`packet-${first / this.packet}`);
          views.forEach((view, at) => { this.texts[first + at] = searched(view); });
        }
      };
      await Promise.all([read(), read()]);
    })();
    return this.reading;
  }

  async #search(text) {
    if (this.base) {
      const { rows, snippets = [] } = await ask(`${this.base}/search?${new URLSearchParams({ q: text })}`);
      snippets.forEach((snippet, at) => { this.texts[rows[at]] = snippet; });
      return new Set(rows);
    }
    await this.readTexts();
    const words = text.toLowerCase().split(/\s+/);
    return new Set([...this.texts.keys()].filter((row) => {
      const lower = this.texts[row].toLowerCase();
      return words.every((word) => lower.includes(word));
    }));
  }

  async study(row) {
    const { scores, checks } = this.data.rubric;
    const [packet, place] = [Math.floor(row / this.packet), row % this.packet];
    const { view: record, ...more } = this.base ? await ask(`${this.base}/study?${new URLSearchParams({ row })}`)
      : { view: (await loadPacket("packet", packet))[place] };
    const measured = ({ name, label, unit, undefined: why }) => [label, record.measures[name] === null ? `undefined (${why})`
      : [this.score(name, record.measures[name]), unit].filter(Boolean).join(" ")];
    this.review = this.base ? new Review({ record, ...more, labels: this.labels }, this) : null;
    return {
      id: record.study_id,
      title: "Study",
      facts: [
        ["class", isolated((record.study_class ?? "(none)") + (record.class_inferred ? " (inferred)" : ""))],
        ...(record.measures ? [...scores, ...checks].map(measured) : []),
        ...Object.entries(record.fields).map(([name, value]) => [name, clipped(String(value))]),
      ],
      review: this.review,
      columns: [{
        key: "", letter: "", record, labels: this.labels, review: this.review,
        asked: this.data.has_prompt ? async () => more.asked ?? (await loadPacket("asked", packet))[place] : null,
      }],
    };
  }

  actions(app, inStudy) {
    if (!this.base) return [];
    document.addEventListener("reader", () => app.study && this.review.redraw());
    const verdict = (word) => {
      const { cards, focused } = app.cards();
      if (!cards.length) return;
      // Where no error is chosen yet the first is meant.
      if (focused < 0) app.move(1);
      this.review.judge(Math.max(0, focused), word).catch(alarm);
    };
    return [
      { keys: "A", text: "agree: the error is right", act: inStudy(() => verdict("right")) },
      { keys: "D", text: "disagree: the error is wrong", act: inStudy(() => verdict("wrong")) },
      { keys: "S", text: "right, but the wrong significance", act: inStudy(() => verdict("wrong_severity")) },
      { keys: "U", text: "withdraw the verdict", act: inStudy(() => verdict("none")) },
      { keys: "M", text: "add an error that was missed", act: inStudy(() => this.review.openMissed()) },
      { keys: "C", text: "comment on the study", act: inStudy(() => find("#comment").focus()) },
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

// The measures that together count the items with all chosen labels: those of the fewest further facets.
function counting(counts, chosen) {
  const fitting = counts.filter(({ labels }) => chosen.every(([facet, value]) => labels[facet] === value));
  const least = Math.min(...fitting.map(({ labels }) => Object.keys(labels).length));
  return fitting.filter(({ labels }) => Object.keys(labels).length === least);
}

// Codes of one letter are written without a space: `abd`.
function codesOf(value, facet) {
  const isShort = facet.labels.every(({ name }) => name.length === 1);
  const names = isShort ? [...value] : value.split(", ").filter(Boolean);
  return names.map((name) => facet.labelOf.get(name));
}

function tile({ label, text, interval, value, low, high, is_share: isShare }) {
  return el("div", { class: "tile" }, el("p", { class: "tile-name" }, label), el("p", { class: "tile-value" }, text),
    isShare ? bar({ value, low, high }) : null,
    interval ? el("p", { class: "small" }, `95% CI ${interval}`) : null);
}

function bar({ value, low, high }) {
  return el("span", { class: "track", "aria-hidden": "true" }, value === null ? null : [
    el("span", { class: "fill", style: { width: `${100 * value}%` } }),
    low === null || low === undefined ? null
      : el("span", { class: "whisker", style: { left: `${100 * low}%`, width: `${100 * (high - low)}%` } }),
  ]);
}

// The figures are drawn with boxes; every number in them is also written out.
function bars(rows) {
  return el("ul", { class: "bars" }, rows.map(([name, drawn, value]) => el("li", {},
    el("span", { class: "bar-name" }, name), drawn, el("span", { class: value === "0" ? "bar-value zero" : "bar-value" }, value))));
}

function ratesFigure({ label, definition, rows }, app) {
  const isClass = (group) => app.view.data.filters.classes?.includes(group);
  return el("figure", { class: "figure" },
    el("figcaption", {}, `Studies with ${label}`),
    bars(rows.map((row) => {
      const name = isolated(row.group);
      return [isClass(row.group) ? filtering(name, { class: row.group }, app) : name, bar(row), rate(row)];
    })),
    el("p", { class: "small" },
      `${definition ? `${label}: ${definition}. ` : ""}Share of scored studies with its 95% Wilson interval.`));
}

// A name that filters the list when it is pressed.
function filtering(text, changes, app) {
  const click = async () => {
    await app.set(changes);
    app.toList();
  };
  return button(text, click, { class: "quiet", title: "Filter the list" });
}

function tallyFigure({ title, rows, columns, counts }, labels, app) {
  const [facet, parts] = [labels.facet(rows), labels.facet(columns).labels];
  const totals = counts.map(({ n }) => parts.reduce((sum, { name }) => sum + n[name], 0));
  const most = Math.max(1, ...totals);
  const isFilter = app.view.data.filters.labels.includes(rows);
  const byPart = (n) => parts.filter(({ name }) => n[name]).map(({ name, label }) => `${label}: ${n[name]}`).join("; ");
  return el("figure", { class: "figure" },
    el("figcaption", {}, `${title} and ${labels.facet(columns).label}`),
    el("ul", { class: "legend" }, parts.map(({ label, tone }) =>
      el("li", {}, el("span", { class: `swatch tone-${tone}`, "aria-hidden": "true" }), label))),
    bars(counts.map(({ name, n }, at) => {
      const { text } = facet.labelOf.get(name);
      return [
        isFilter && totals[at] ? filtering(text, { [rows]: name }, app) : text,
        el("span", { class: "track", "aria-hidden": "true" }, parts.map((part) => el("span", {
          class: `part tone-${part.tone}`, style: { width: `${(100 * n[part.name]) / most}%` },
        }))),
        totals[at] ? byPart(n) : parts.every(({ name: part }) => n[part] === null) ? NO_VALUE : "0",
      ];
    })));
}

function scoresFigure({ name, label, n, bins, whole, higher_is_better: higher }, app) {
  const most = Math.max(1, ...bins.map((bin) => bin.n));
  const edge = (value) => number(value, whole ? 0 : 2);
  const text = ({ low, high }) => (low === high ? edge(low) : `${edge(low)} to ${edge(high)}`);
  const column = (bin) => {
    // A bin holds its lower edge; the range filter holds both.
    const element = filtering([
      el("span", { class: "unseen" }, `${label} ${text(bin)}: `), el("span", { class: bin.n ? "column-n" : "unseen" }, String(bin.n)),
      el("span", { class: "column-fill", style: { "--share": bin.n / most } }),
    ], { [`min.${name}`]: String(bin.low), [`max.${name}`]: String(bin.high) }, app);
    return Object.assign(element, { className: "column", title: `${text(bin)}: ${bin.n}`, disabled: !bin.n });
  };
  const [first, last] = [bins[0]?.low ?? 0, bins.at(-1)?.high ?? 0];
  const ticks = whole ? [first, last] : [0, 0.25, 0.5, 0.75, 1].map((share) => first + share * (last - first));
  return el("figure", { class: "figure" },
    el("figcaption", {}, `${capital(label)}, ${count(n, "scored study", "scored studies")}`),
    el("div", { class: "histogram" }, bins.map(column)),
    el("p", { class: "axis small", "aria-hidden": "true" }, ticks.map((tick) => el("span", {}, edge(tick)))),
    el("p", { class: "small" }, `Studies by score; ${higher ? "higher" : "lower"} is better. A bar filters the list.`));
}

// The judge's precision among the errors that readers reviewed.
function readersSection(statistics, labels) {
  const { n_reviewed_errors: n, missed = 0, readers = [], precision, note } = statistics ?? {};
  if (!n && !missed) return el("p", { class: "small" }, "No error of this run has been reviewed yet.");
  const name = (code) => (code === "all" ? "all" : labels.codes.labelOf.get(code).text);
  const rows = precision.filter((row) => row.n).map((row) => [name(row.code), rate(row)]);
  return el("div", {}, el("h3", {}, "Reviews"),
    el("p", {}, `${count(n, "error")} reviewed`, n ? [" by ", isolated(readers.join(", "))] : null, `; ${count(missed, "missed error")} added.`),
    rows.length ? printedTable({ title: "The judge's precision among reviewed errors", head: ["errors", "right"], n_left: 1, rows }) : null,
    note ? el("p", { class: "small" }, note) : null);
}
