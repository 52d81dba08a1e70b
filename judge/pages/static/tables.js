// Pages of tables, with the studies behind them: a stress test, and judges beside readers.

import { App, figuresSection } from "./app.js";
import { el, factList, isolated, printedTable } from "./dom.js";
import { NO_VALUE, capital, itemLabels, number, trueMinus } from "./format.js";
import { Listing, choiceFilter, orderBy, textFilter } from "./list.js";
import { load, loadSeries } from "./load.js";

const OPEN_TABLES = 2;
const EFFECTS = {
  fewer: "the judge found fewer errors than without the text", more: "the judge found more errors than without the text",
  other: "the judge read it otherwise than without the text", unreadable: "the answer cannot be read, and that without the text could",
};
// The changes of a report are shown as a judge's errors are.
const CHANGE = { label: "change", plural: "changes" };
const CHANGED = { grade: () => ({ tone: "good", label: "changed" }), tags: () => [], kind: () => CHANGE, noun: CHANGE };

class TablesView {
  constructor(overview, index) {
    this.data = overview;
    this.index = index;
    this.title = document.title;
    this.signature = overview.signature;
    this.notes = overview.notes ?? [];
  }

  overview() {
    const { facts, tables } = this.data;
    const folded = tables.slice(OPEN_TABLES).map(printedTable);
    return el("section", { "aria-labelledby": "tables-title" }, el("h2", { id: "tables-title" }, "Summary"),
      factList(facts.map(({ name, value }) => [name, isolated(value)])), tables.slice(0, OPEN_TABLES).map(printedTable),
      folded.length ? el("details", {}, el("summary", {}, "More tables"), folded) : null);
  }
}

export async function stressPage() {
  const [overview, columns, figures] = await Promise.all([load("overview"), load("columns"), load("figures")]);
  await new App(new StressView(overview, columns, figures)).start();
}

class StressView extends TablesView {
  listTitle = "Pairs";

  constructor(overview, index, figures) {
    super(overview, index);
    this.figures = figures;
    this.labels = itemLabels(overview.rubric);
  }

  below() {
    return this.data.has_figures ? figuresSection(this.figures) : null;
  }

  #outcomesOf(row) {
    return this.index.outcomes[row].map((at) => this.data.outcomes[at]);
  }

  listing() {
    const { ids, study, change, group, k, n_errors: found } = this.index;
    const outcomes = (row) => this.#outcomesOf(row);
    const column = (name, kind, value) => ({ name, label: name, kind, value });
    const choice = (name, values) => choiceFilter(name, capital(name), [...new Set(values)], (row) => values[row]);
    return new Listing({
      noun: { label: "pair", plural: "pairs" },
      ids,
      columns: [
        column("pair", "id", (row) => ids[row]),
        column("group", "field", (row) => group[row]),
        column("outcome", "field", (row) => outcomes(row).join("; ")),
        column("errors injected", "number", (row) => k[row]),
        { ...column("errors found", "number", (row) => found[row]), draw: (row) => String(found[row] ?? NO_VALUE) },
      ],
      filters: [choice("group", group), choice("change", change), choiceFilter("outcome", "Outcome", this.data.outcomes, outcomes),
        textFilter("of", "Study id", (row) => study[row])],
    });
  }

  async study(row, app) {
    const { packet, ids } = this.index;
    const pair = (await load(`packet-${Math.floor(row / packet)}`))[row % packet];
    const items = pair.words.map((sides) => ({ kind: "change", text: sides.map((text) => text.trim()).filter(Boolean).join(" → ") }));
    const injected = pair.categories.length ? `${pair.categories.join(" or ")}, ${pair.significance}` : null;
    return {
      id: ids[row],
      facts: [
        ["change", isolated(pair.change), pair.does ? [": ", isolated(pair.does)] : null],
        ["expected", pair.expected, pair.base === null ? null : [": ", el("a", { href: app.addressOf(pair.base) }, isolated(pair.base))]],
      ],
      intro: el("p", {}, el("strong", {}, capital(this.#outcomesOf(row).join("; "))),
        pair.effect ? `: ${EFFECTS[pair.effect] ?? pair.effect}.` : ""),
      columns: [
        {
          key: "change", letter: "T", title: "Injected change", note: pair.is_rewritten ? "Rewritten completely." : injected,
          labels: { ...CHANGED, hasGraded: !pair.is_rewritten },
          record: { ...pair.marked, items, outcome: "annotated", edits: null, differs: [], lists: [], warnings: [] },
        },
        { key: "judge", letter: "", title: "Judge's findings", labels: this.labels, record: pair.record },
      ],
    };
  }
}

export async function validationPage() {
  const [overview, columns] = await Promise.all([load("overview"), load("columns")]);
  await new App(new ValidationView(overview, columns)).start();
}

// A count, or a mean of counts, as it is printed.
function countText(value) {
  return value === null ? NO_VALUE : trueMinus(number(value, Number.isInteger(value) ? 0 : 2));
}

class ValidationView extends TablesView {
  constructor(overview, index) {
    super(overview, index);
    const { raters } = overview;
    this.readers = [...raters.keys()].filter((rater) => raters[rater].is_reader);
    this.judges = [...raters.keys()].filter((rater) => !raters[rater].is_reader);
    this.labels = raters.map(({ rubric }) => itemLabels(rubric));
  }

  params(app) {
    const { quantities, raters } = this.data;
    const param = (name, label, choices) =>
      ({ name, label, choices, value: choices.find(({ value }) => value === app.query.get(name))?.value ?? choices[0]?.value });
    return [
      param("quantity", "Count", quantities.map(({ name, label }) => ({ value: name, label }))),
      param("judge", "Judge", this.judges.map((rater) => ({ value: raters[rater].name, label: raters[rater].name }))),
    ];
  }

  async listing(app) {
    const { raters, quantities } = this.data;
    const quantity = quantities.findIndex(({ name }) => name === app.param("quantity"));
    const judge = this.judges.find((rater) => raters[rater].name === app.param("judge"));
    const { study_id: ids, study_class: classes } = this.index;
    const value = quantity < 0 ? () => null : await loadSeries(`counts-${quantity}`, ids.length);
    const mean = ids.map((_, row) => {
      const counts = this.readers.map((reader) => value(row, reader)).filter((n) => n !== null);
      return counts.length ? counts.reduce((sum, n) => sum + n, 0) / counts.length : null;
    });
    const difference = ids.map((_, row) => (value(row, judge) === null || mean[row] === null ? null : value(row, judge) - mean[row]));
    this.judge = judge;
    this.quantity = quantities[quantity];
    this.value = value;
    const counted = (name, label, read) => ({ name, label, kind: "number", value: read, draw: (row) => countText(read(row)) });
    return new Listing({
      ids,
      order: orderBy(difference, (n) => Math.abs(n ?? -1)),
      ordered: "largest differences of judge and readers first",
      columns: [
        { name: "study_id", label: "study", kind: "id", value: (row) => ids[row] },
        { name: "class", label: "class", kind: "field", value: (row) => classes[row] },
        counted("count", `judge: ${raters[judge].name}`, (row) => value(row, judge)),
        counted("mean", "mean of the readers", (row) => mean[row]),
        counted("difference", "judge minus readers", (row) => difference[row]),
        ...this.readers.map((rater) => counted(`reader ${raters[rater].name}`, raters[rater].name, (row) => value(row, rater))),
      ],
      filters: [choiceFilter("class", "Class", [...new Set(classes)].sort(), (row) => classes[row]),
        textFilter("id", "Study id", (row) => ids[row])],
    });
  }

  async study(row) {
    const { study_id: ids, study_class: classes, packet } = this.index;
    const records = (await load(`packet-${Math.floor(row / packet)}`))[row % packet];
    const columns = [this.judge, ...this.readers].map((rater, place) => {
      const { name, is_reader: isReader } = this.data.raters[rater];
      const n = this.value(row, rater);
      const letter = String.fromCodePoint(65 + place);
      return {
        key: `r${rater}-`, letter, title: `${letter}: ${name}${isReader ? " (reader)" : " (judge)"}`,
        labels: this.labels[rater], record: records.find((record) => record.rater === rater) ?? null,
        note: `${capital(this.quantity.label)}: ${n !== null ? countText(n) : isReader ? "not read, or not asked for" : "not scored"}`,
      };
    });
    return { id: ids[row], facts: [["class", isolated(classes[row])]], columns };
  }
}
