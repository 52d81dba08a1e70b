// The page of judges and readers: tables, the counts of both crossed, and the studies behind them.

import { App, summarySection } from "./app.js";
import { button, el, grid, isolated } from "./dom.js";
import { capital, count, itemLabels, number, trueMinus } from "./format.js";
import { Listing, choiceFilter, orderBy } from "./list.js";
import { load, loadPacket, loadSeries } from "./load.js";

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
    const { facts, studies: { here, all }, raters, signature } = overview;
    this.data = overview;
    this.index = index;
    this.title = document.title;
    this.signature = signature;
    this.notes = facts.filter(({ name }) => name === "note").map(({ value }) => value);
    this.footer = here < all ? `This page holds the reports of ${here.toLocaleString("en")} of ${count(all, "study", "studies")}: `
      + "some of every pair of counts, and all of the rare ones. The counts of all studies are here." : null;
    this.readers = [...raters.keys()].filter((rater) => raters[rater].is_reader);
    this.judges = [...raters.keys()].filter((rater) => !raters[rater].is_reader);
    this.labels = raters.map(({ rubric }) => itemLabels(rubric));
  }

  overview() {
    const { facts, tables } = this.data;
    this.crossed = el("div", { id: "crossed" });
    return summarySection("agreement", "Agreement", facts.filter(({ name }) => name !== "note"), tables, 1, this.crossed);
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
    const judge = this.judges.find((rater) => raters[rater].name === app.param("judge")) ?? this.judges[0];
    const { study_id: ids, study_class: classes } = this.index;
    const value = quantity < 0 ? () => null : await loadSeries(`counts-${quantity}`, ids.length);
    const judged = ids.map((_, row) => value(row, judge));
    const mean = ids.map((_, row) => {
      const counts = this.readers.map((reader) => value(row, reader)).filter((n) => n !== null);
      return counts.length ? counts.reduce((sum, n) => sum + n, 0) / counts.length : null;
    });
    const difference = ids.map((_, row) => (judged[row] === null || mean[row] === null ? null : judged[row] - mean[row]));
    this.judge = judge;
    this.quantity = quantities[quantity];
    this.value = value;
    this.#drawCrossed(judged, mean, app);
    const counted = (name, label, read) => ({ name, label, kind: "number", value: read, draw: (row) => countText(read(row)) });
    const countFilter = (name, label, counts) => choiceFilter(name, label,
      [...new Set(counts)].sort((a, b) => a - b).map((n) => ({ value: String(n), label: countText(n) })),
      (row) => String(counts[row]));
    return new Listing({
      key: "validation",
      ids,
      order: orderBy(difference, (n) => Math.abs(n ?? -1)),
      ordered: "largest differences of judge and readers first",
      columns: [
        { name: "study_id", label: "study", kind: "id", value: (row) => ids[row] },
        { name: "class", label: "class", kind: "text", value: (row) => classes[row] },
        counted("count", `judge: ${raters[judge]?.name}`, (row) => judged[row]),
        counted("mean", "mean of the readers", (row) => mean[row]),
        counted("difference", "judge minus readers", (row) => difference[row]),
        ...this.readers.map((rater) => counted(`reader ${raters[rater].name}`, raters[rater].name, (row) => value(row, rater))),
      ],
      filters: [
        choiceFilter("class", "Class", [...new Set(classes)].sort(), (row) => classes[row]),
        countFilter("count", "Count of the judge", judged),
        countFilter("mean", "Mean of the readers", mean),
        { name: "id", label: "Study id", kind: "text", value: (row) => ids[row] },
      ],
    });
  }

  // The number of studies of each pair of a judge's count and a mean of the readers; a cell lists them.
  #drawCrossed(judged, mean, app) {
    if (!this.quantity) return;
    const pairs = judged.map((n, row) => [n, mean[row]]).filter(([n, average]) => n !== null && average !== null);
    const rows = new Map();
    for (const pair of pairs) rows.set(pair.join(" "), (rows.get(pair.join(" ")) ?? 0) + 1);
    const values = (side) => [...new Set(pairs.map((pair) => pair[side]))].sort((a, b) => a - b);
    const most = Math.max(1, ...rows.values());
    const open = async (n, average) => {
      await app.set({ count: String(n), mean: String(average) });
      app.toList();
    };
    const cell = (n, average) => {
      const studies = rows.get(`${n} ${average}`) ?? 0;
      const label = `judge ${countText(n)}, readers ${countText(average)}: ${studies} studies`;
      return el("td", { class: `numbers${n === average ? " equal" : ""}`, style: { "--share": studies / most } },
        studies ? button(studies.toLocaleString("en"), () => open(n, average), { class: "cell", "aria-label": label }) : "");
    };
    const { raters, limits } = this.data;
    const limit = limits.find((row) => row.quantity === this.quantity.name && row.judge === raters[this.judge].name);
    const range = ({ value, low, high }) => `${countText(value)}${low === null ? "" : ` [${countText(low)}, ${countText(high)}]`}`;
    const heading = (text, scope) => el("th", { scope, class: "numbers" }, text);
    this.crossed.replaceChildren(el("h3", {}, `${capital(this.quantity.label)}: judge against readers`),
      pairs.length ? grid("crossed", "studies by the judge's count (down) and the mean of the readers (across)",
        [heading("judge \\ readers", "col"), ...values(1).map((average) => heading(countText(average), "col"))],
        values(0).map((n) => el("tr", {}, heading(countText(n), "row"), values(1).map((average) => cell(n, average)))), true)
        : el("p", { class: "empty" }, "No study has both the judge's count and a reader's."),
      el("p", { class: "small" }, limit && limit.bias.value !== null
        ? `Judge minus readers: bias ${range(limit.bias)}; limits of agreement ${range(limit.lower)} to ${range(limit.upper)}. `
          + "A number lists its studies."
        : `No limits of agreement: ${limit?.bias.reason ?? "they are not defined"}.`));
  }

  async study(row, app) {
    const { raters } = this.data;
    const { study_id: ids, study_class: classes, packets } = this.index;
    const records = packets[row] < 0 ? [] : (await loadPacket("packet", packets[row]))[row];
    const columns = [this.judge, ...this.readers].map((rater, place) => {
      const { name, is_reader: isReader } = raters[rater];
      const n = this.value(row, rater);
      const letter = String.fromCodePoint(65 + place);
      return {
        key: `r${rater}-`, letter, title: `${letter}: ${name}${isReader ? " (reader)" : " (judge)"}`, mark: String(rater),
        labels: this.labels[rater], record: records.find((record) => record.rater === rater) ?? null,
        note: `${capital(this.quantity.label)}: ${n !== null ? countText(n) : isReader ? "not read, or not asked for" : "not scored"}`,
      };
    });
    return {
      id: ids[row],
      title: "Study",
      facts: [["class", isolated(classes[row])]],
      intro: records.length ? null : el("p", {}, "The reports of this study are not in this page; judge audit RUN STUDY shows them."),
      columns,
      marks: [{ value: "", label: "of the judge and all readers" },
        ...columns.filter(({ record }) => record).map(({ mark, title }) => ({ value: mark, label: title }))],
      marked: app.study?.marked ?? "",
    };
  }
}
