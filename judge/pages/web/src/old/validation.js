// The page of judges beside readers: its tables, and the studies behind them.

import { App } from "./app.js";
import { el, factList, isolated, printedTable } from "./dom.js";
import { NO_VALUE, capital, itemLabels, number, trueMinus } from "./format.js";
import { Listing, choiceFilter, orderBy, textFilter } from "./list.js";
import { load, loadSeries } from "./load.js";

const OPEN_TABLES = 2;

export async function validationPage() {
  const [overview, columns] = await Promise.all([load("overview"), load("columns")]);
  await new App(new ValidationView(overview, columns)).start();
}

// A count, or a mean of counts, as it is printed.
function countText(value) {
  return value === null ? NO_VALUE : trueMinus(number(value, Number.isInteger(value) ? 0 : 2));
}

class ValidationView {
  constructor(overview, index) {
    this.data = overview;
    this.index = index;
    this.title = document.title;
    this.signature = overview.signature;
    this.notes = [];
    const { raters } = overview;
    this.readers = [...raters.keys()].filter((rater) => raters[rater].is_reader);
    this.judges = [...raters.keys()].filter((rater) => !raters[rater].is_reader);
    this.labels = raters.map(({ rubric }) => itemLabels(rubric));
  }

  overview() {
    const { facts, tables } = this.data;
    const folded = tables.slice(OPEN_TABLES).map(printedTable);
    return el("section", { "aria-labelledby": "tables-title" }, el("h2", { id: "tables-title" }, "Summary"),
      factList(facts.map(({ name, value }) => [name, isolated(value)])), tables.slice(0, OPEN_TABLES).map(printedTable),
      folded.length ? el("details", {}, el("summary", {}, "More tables"), folded) : null);
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
