// The page of judges and readers: tables, the counts of both crossed, and the studies behind.

import { button, el, grid, isolated, printedTable } from "./dom.js";
import { App, factList } from "./app.js";
import { Listing } from "./list.js";
import { load, loadSeries, packets } from "./load.js";
import { capital, itemLabels, number, trueMinus } from "./words.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

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
    this.notes = overview.facts.filter(({ name }) => name === "note").map(({ value }) => value);
    const { here, all } = overview.studies;
    this.isPartial = here < all;
    this.footer = this.isPartial ? `This page holds the reports of ${here.toLocaleString("en")} of ${all.toLocaleString("en")} studies: `
      + "some of every pair of counts, and all of the rare ones. The counts of all studies are here." : null;
    this.readers = overview.raters.flatMap(({ is_reader: isReader }, at) => (isReader ? [at] : []));
    this.judges = overview.raters.flatMap(({ is_reader: isReader }, at) => (isReader ? [] : [at]));
    this.labels = overview.raters.map(({ rubric }) => itemLabels(rubric));
    this.packetOf = packets();
  }

  overview() {
    const { facts, tables: [first, ...more] } = this.data;
    return el("section", { id: "agreement", "aria-labelledby": "agreement-title" },
      el("h2", { id: "agreement-title" }, "Agreement"),
      factList(facts.filter(({ name }) => name !== "note")),
      first ? printedTable(first) : el("p", { class: "empty" }, "No table has a row."),
      more.length ? el("details", {}, el("summary", {}, `More tables: ${more.map(({ title }) => title).join("; ")}`), more.map(printedTable)) : null,
      this.crossed = el("div", { id: "crossed" }));
  }

  params(app) {
    const { quantities, raters } = this.data;
    const choices = (all) => all.map(({ name, label }) => ({ value: name, label }));
    const chosen = (name, all) => all.find(({ value }) => value === app.query.get(name))?.value ?? all[0]?.value;
    const counted = choices(quantities);
    const judges = this.judges.map((at) => ({ value: raters[at].name, label: raters[at].name }));
    return [
      { name: "quantity", label: "What is counted", choices: counted, value: chosen("quantity", counted) },
      { name: "judge", label: "Judge", choices: judges, value: chosen("judge", judges), hidden: judges.length < 2 },
    ];
  }

  async listing(app) {
    const { raters, quantities } = this.data;
    const quantity = quantities.findIndex(({ name }) => name === app.param("quantity"));
    const judge = this.judges.find((at) => raters[at].name === app.param("judge")) ?? this.judges[0];
    const { study_id: ids, study_class: classes, packets: held } = this.index;
    const value = quantity < 0 ? () => null : await loadSeries(`counts-${quantity}`, ids.length);
    const own = ids.map((_, row) => value(row, judge));
    const mean = ids.map((_, row) => {
      const counts = this.readers.map((reader) => value(row, reader)).filter((count) => count !== null);
      return counts.length ? counts.reduce((sum, count) => sum + count, 0) / counts.length : null;
    });
    const by = ids.map((_, row) => (own[row] === null || mean[row] === null ? null : own[row] - mean[row]));
    Object.assign(this, { judge, quantity: quantities[quantity], value });
    const apart = [...ids.keys()].sort((a, b) => Math.abs(by[b] ?? -1) - Math.abs(by[a] ?? -1) || (held[b] >= 0) - (held[a] >= 0) || a - b);
    const order = new Int32Array(ids.length);
    apart.forEach((row, at) => { order[row] = at; });
    const counted = (name, label, of, shown = true) => ({ name, label, kind: "number", value: of, draw: (row) => countText(of(row)), shown });
    const choice = (name, label, values, of) => ({
      name, label, kind: "choice", values: () => (row) => [String(of(row) ?? "")],
      choices: [...new Set(values)].sort((a, b) => (a > b ? 1 : -1)).map((each) => ({ value: String(each ?? ""), label: each === null ? "n/a" : typeof each === "number" ? countText(each) : each })),
    });
    const listing = new Listing({
      key: "validation",
      ids,
      order,
      ordered: "those where judge and readers differ most first",
      columns: [
        { name: "study_id", label: "study", kind: "id", value: (row) => ids[row] },
        { name: "class", label: "class", kind: "text", value: (row) => classes[row] },
        counted("count", `judge: ${raters[judge]?.name}`, (row) => own[row]),
        counted("mean", "mean of the readers", (row) => mean[row]),
        counted("difference", "judge less readers", (row) => by[row]),
        ...this.readers.map((at) => counted(`reader ${raters[at].name}`, raters[at].name, (row) => value(row, at))),
        ...(this.isPartial ? [{ name: "here", label: "reports here", kind: "text", value: (row) => (held[row] >= 0 ? "yes" : "no") }] : []),
      ],
      filters: [
        choice("class", "Class", classes, (row) => classes[row]),
        choice("count", "Count of the judge", own, (row) => own[row]),
        choice("mean", "Mean of the readers", mean, (row) => mean[row]),
        { name: "id", label: "Study id", kind: "text", value: (row) => ids[row] },
      ],
    });
    this.#drawCrossed(own, mean, app);
    return listing;
  }

  // How many studies have which count of the judge and which mean of the readers; a cell lists them.
  #drawCrossed(own, mean, app) {
    if (!this.quantity) return;
    const n = new Map();
    own.forEach((count, row) => {
      if (count === null || mean[row] === null) return;
      const key = `${count} ${mean[row]}`;
      n.set(key, (n.get(key) ?? 0) + 1);
    });
    const present = own.map((_, row) => row).filter((row) => own[row] !== null && mean[row] !== null);
    const sorted = (values) => [...new Set(present.map((row) => values[row]))].sort((a, b) => a - b);
    const [counts, means] = [sorted(own), sorted(mean)];
    const most = Math.max(1, ...n.values());
    const open = (count, average) => app.set({ count: String(count), mean: String(average) })
      .then(() => document.getElementById("studies-title").scrollIntoView());
    const cell = (count, average) => {
      const number_ = n.get(`${count} ${average}`);
      return el("td", { class: `numbers${count === average ? " equal" : ""}`, style: { "--share": (number_ ?? 0) / most } }, number_
        ? button(number_.toLocaleString("en"), () => open(count, average), {
          class: "cell", "aria-label": `judge ${countText(count)}, readers ${countText(average)}: ${number_} studies`,
        }) : "");
    };
    const { raters, limits } = this.data;
    const limit = limits.find((each) => each.quantity === this.quantity.name && each.judge === raters[this.judge].name);
    const range = ({ value, low, high }) => `${countText(value)}${low === null ? "" : ` [${countText(low)}, ${countText(high)}]`}`;
    this.crossed.replaceChildren(el("h3", {}, `${capital(this.quantity.label)}: judge against readers`),
      present.length ? grid("crossed", "studies by the judge's count (down) and the mean of the readers (across)",
        [el("th", { scope: "col" }, "judge \\ readers"), ...means.map((average) => el("th", { scope: "col", class: "numbers" }, countText(average)))],
        counts.map((count) => el("tr", {}, el("th", { scope: "row", class: "numbers" }, countText(count)), means.map((average) => cell(count, average)))), true)
        : el("p", { class: "empty" }, "No study has both the judge's count and a reader's."),
      el("p", { class: "small" }, limit && limit.bias.value !== null
        ? `Judge less readers: bias ${range(limit.bias)}; limits of agreement ${range(limit.lower)} to ${range(limit.upper)}. A number lists its studies.`
        : `No limits of agreement: ${limit?.reason ?? "they are not defined"}.`));
  }

  async study(row, app) {
    const { raters } = this.data;
    const { study_id: ids, study_class: classes, packets: held } = this.index;
    const records = held[row] < 0 ? [] : (await this.packetOf(held[row]))[row];
    const shown = [this.judge, ...this.readers];
    const letter = (at) => LETTERS[shown.indexOf(at)] ?? `${shown.indexOf(at) + 1}.`;
    const columns = shown.map((at) => {
      const { name, is_reader: isReader } = raters[at];
      const count = this.value(row, at);
      return {
        key: `r${at}-`, letter: letter(at), title: `${letter(at)}: ${name}${isReader ? " (reader)" : " (judge)"}`, mark: String(at),
        labels: this.labels[at], record: records.find(({ rater }) => rater === at) ?? null,
        note: `${capital(this.quantity.label)}: ${count === null ? (isReader ? "not read, or not asked for" : "not scored") : countText(count)}`,
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
