// The page of judges and readers: tables, the counts of both crossed, and the studies behind.

import { App, factList } from "./app.js";
import { button, el, grid, isolated, printedTable } from "./dom.js";
import { Listing, choiceFilter, orderBy } from "./list.js";
import { load, loadSeries, packets } from "./load.js";
import { capital, itemLabels, number, trueMinus } from "./words.js";

export async function validationPage() {
  const [overview, columns] = await Promise.all([load("overview"), load("columns")]);
  await new App(new ValidationView(overview, columns)).start();
}

// A count, or a mean of counts, as it is printed.
function countText(value) {
  return value === null ? number(null) : trueMinus(number(value, Number.isInteger(value) ? 0 : 2));
}

class ValidationView {
  constructor(overview, index) {
    Object.assign(this, { data: overview, index, title: document.title, signature: overview.signature });
    const { facts, studies: { here, all }, raters } = overview;
    this.notes = facts.filter(({ name }) => name === "note").map(({ value }) => value);
    this.footer = here < all ? `This page holds the reports of ${here.toLocaleString("en")} of ${all.toLocaleString("en")} studies: `
      + "some of every pair of counts, and all of the rare ones. The counts of all studies are here." : null;
    this.readers = [...raters.keys()].filter((at) => raters[at].is_reader);
    this.judges = [...raters.keys()].filter((at) => !raters[at].is_reader);
    this.labels = raters.map(({ rubric }) => itemLabels(rubric));
    this.packetOf = packets();
  }

  overview() {
    const { facts, tables: [first, ...more] } = this.data;
    const titles = more.map(({ title }) => title).join("; ");
    return el("section", { id: "agreement", "aria-labelledby": "agreement-title" },
      el("h2", { id: "agreement-title" }, "Agreement"),
      factList(facts.filter(({ name }) => name !== "note")),
      first ? printedTable(first) : el("p", { class: "empty" }, "No table has a row."),
      more.length ? el("details", {}, el("summary", {}, `More tables: ${titles}`), more.map(printedTable)) : null,
      this.crossed = el("div", { id: "crossed" }));
  }

  params(app) {
    const { quantities, raters } = this.data;
    const param = (name, label, choices) =>
      ({ name, label, choices, value: choices.find(({ value }) => value === app.query.get(name))?.value ?? choices[0]?.value });
    return [
      param("quantity", "What is counted", quantities.map(({ name, label }) => ({ value: name, label }))),
      param("judge", "Judge", this.judges.map((at) => ({ value: raters[at].name, label: raters[at].name }))),
    ];
  }

  async listing(app) {
    const { raters, quantities } = this.data;
    const quantity = quantities.findIndex(({ name }) => name === app.param("quantity"));
    const judge = this.judges.find((at) => raters[at].name === app.param("judge")) ?? this.judges[0];
    const { study_id: ids, study_class: classes } = this.index;
    const value = quantity < 0 ? () => null : await loadSeries(`counts-${quantity}`, ids.length);
    const own = ids.map((_, row) => value(row, judge));
    const mean = ids.map((_, row) => {
      const counts = this.readers.map((reader) => value(row, reader)).filter((count) => count !== null);
      return counts.length ? counts.reduce((sum, count) => sum + count, 0) / counts.length : null;
    });
    const by = ids.map((_, row) => (own[row] === null || mean[row] === null ? null : own[row] - mean[row]));
    Object.assign(this, { judge, quantity: quantities[quantity], value });
    this.#drawCrossed(own, mean, app);
    const counted = (name, label, of) => ({ name, label, kind: "number", value: of, draw: (row) => countText(of(row)) });
    const countFilter = (name, label, counts) => choiceFilter(name, label,
      [...new Set(counts)].sort((a, b) => a - b).map((count) => ({ value: String(count), label: countText(count) })),
      (row) => String(counts[row]));
    return new Listing({
      key: "validation",
      ids,
      order: orderBy(by, (difference) => Math.abs(difference ?? -1)),
      ordered: "those where judge and readers differ most first",
      columns: [
        { name: "study_id", label: "study", kind: "id", value: (row) => ids[row] },
        { name: "class", label: "class", kind: "text", value: (row) => classes[row] },
        counted("count", `judge: ${raters[judge]?.name}`, (row) => own[row]),
        counted("mean", "mean of the readers", (row) => mean[row]),
        counted("difference", "judge less readers", (row) => by[row]),
        ...this.readers.map((at) => counted(`reader ${raters[at].name}`, raters[at].name, (row) => value(row, at))),
      ],
      filters: [
        choiceFilter("class", "Class", [...new Set(classes)].sort(), (row) => classes[row]),
        countFilter("count", "Count of the judge", own),
        countFilter("mean", "Mean of the readers", mean),
        { name: "id", label: "Study id", kind: "text", value: (row) => ids[row] },
      ],
    });
  }

  // How many studies have which count of the judge and which mean of the readers; a cell lists them.
  #drawCrossed(own, mean, app) {
    if (!this.quantity) return;
    const pairs = own.map((count, row) => [count, mean[row]]).filter(([count, average]) => count !== null && average !== null);
    const rows = Map.groupBy(pairs, (pair) => pair.join(" "));
    const ends = (at) => [...new Set(pairs.map((pair) => pair[at]))].sort((a, b) => a - b);
    const most = Math.max(1, ...[...rows.values()].map(({ length }) => length));
    const open = async (count, average) => {
      await app.set({ count: String(count), mean: String(average) });
      app.toList();
    };
    const cell = (count, average) => {
      const n = rows.get(`${count} ${average}`)?.length ?? 0;
      const label = `judge ${countText(count)}, readers ${countText(average)}: ${n} studies`;
      return el("td", { class: `numbers${count === average ? " equal" : ""}`, style: { "--share": n / most } },
        n ? button(n.toLocaleString("en"), () => open(count, average), { class: "cell", "aria-label": label }) : "");
    };
    const { raters, limits } = this.data;
    const limit = limits.find((each) => each.quantity === this.quantity.name && each.judge === raters[this.judge].name);
    const range = ({ value, low, high }) => `${countText(value)}${low === null ? "" : ` [${countText(low)}, ${countText(high)}]`}`;
    const heading = (text, scope) => el("th", { scope, class: "numbers" }, text);
    this.crossed.replaceChildren(el("h3", {}, `${capital(this.quantity.label)}: judge against readers`),
      pairs.length ? grid("crossed", "studies by the judge's count (down) and the mean of the readers (across)",
        [heading("judge \\ readers", "col"), ...ends(1).map((average) => heading(countText(average), "col"))],
        ends(0).map((count) => el("tr", {}, heading(countText(count), "row"), ends(1).map((average) => cell(count, average)))), true)
        : el("p", { class: "empty" }, "No study has both the judge's count and a reader's."),
      el("p", { class: "small" }, limit && limit.bias.value !== null
        ? `Judge less readers: bias ${range(limit.bias)}; limits of agreement ${range(limit.lower)} to ${range(limit.upper)}. `
          + "A number lists its studies."
        : `No limits of agreement: ${limit?.reason ?? "they are not defined"}.`));
  }

  async study(row, app) {
    const { raters } = this.data;
    const { study_id: ids, study_class: classes, packets: held } = this.index;
    const records = held[row] < 0 ? [] : (await this.packetOf(held[row]))[row];
    const columns = [this.judge, ...this.readers].map((at, place) => {
      const { name, is_reader: isReader } = raters[at];
      const count = this.value(row, at);
      const letter = String.fromCodePoint(65 + place);
      return {
        key: `r${at}-`, letter, title: `${letter}: ${name}${isReader ? " (reader)" : " (judge)"}`, mark: String(at),
        labels: this.labels[at], record: records.find(({ rater }) => rater === at) ?? null,
        note: `${capital(this.quantity.label)}: `
          + (count !== null ? countText(count) : isReader ? "not read, or not asked for" : "not scored"),
      };
    });
    return {
      id: ids[row],
      title: "Study",
      facts: [["class", isolated(classes[row])]],
      intro: records.length ? null : el("p", {}, "Its reports are not in this page; judge audit RUN STUDY shows them."),
      columns,
      marks: [{ value: "", label: "of the judge and all readers" },
        ...columns.filter(({ record }) => record).map(({ mark, title }) => ({ value: mark, label: title }))],
      marked: app.study?.marked ?? "",
    };
  }
}
