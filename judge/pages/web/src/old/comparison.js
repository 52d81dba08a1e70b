// The page of a comparison: the leaderboard with its tests, and the studies behind every number.

import { App, figuresSection } from "./app.js";
import { button, el, find, frame, goTo, grid, isolated, printedTable, redraw } from "./dom.js";
import { NO_VALUE, count, itemLabels, number, percent, trueMinus } from "./format.js";
import { Listing, choiceFilter, orderBy, textFilter } from "./list.js";
import { ask, isFile, load, loadSeries } from "./load.js";

const SHOWN_FIELDS = 3;
const MAX_VALUES = 50;

export async function comparisonPage() {
  const top = isFile() ? null
    : [el("a", { href: "/" }, "All runs"), el("a", { href: `/${location.search}` }, "Change what is compared")];
  const heading = el("h1", {}, "Comparing ...");
  if (!isFile()) frame(el("header", { class: "top" }, heading, top), el("main", { id: "main" }));
  const [overview, columns] = await Promise.all([load("overview"), load("columns")]).catch((error) => {
    heading.textContent = "These runs cannot be compared";
    throw error;
  });
  await new App(new ComparisonView(overview, columns, top)).start();
}

class ComparisonView {
  constructor(overview, index, top) {
    const { models, records, rubrics, signature, notes } = overview;
    this.data = overview;
    this.index = index;
    this.top = top;
    this.signature = signature;
    this.notes = notes;
    this.title = `Comparison of ${count(models.length, "model")}`;
    this.isPartial = Boolean(records) && records.here < records.all;
    this.footer = this.isPartial ? `This page holds ${records.here.toLocaleString("en")} of `
      + `${records.all.toLocaleString("en")} judged reports (${percent(records.here / records.all)}): `
      + "those of the studies in which models differ most. The values of all studies are here." : null;
    this.labels = Object.fromEntries(Object.entries(rubrics).map(([name, rubric]) => [name, itemLabels(rubric)]));
    this.series = new Map();
  }

  // One group, ranked by a metric; model A, whose tests are shown, against B.
  params(app) {
    const { groups, models, metrics, sort } = this.data;
    const chosen = (name, all, first) => all.find((entry) => entry.name === app.query.get(name)) ?? first;
    const group = chosen("group", groups, groups[0]);
    const metric = chosen("metric", metrics, metrics.find(({ name }) => name === sort));
    const order = ranking(group, metric.name).map((model) => models[model]);
    const [a, b] = [app.query.get("a"), app.query.get("b")];
    const first = models.includes(a) ? a : order[0];
    const second = b === "" || models.includes(b) ? b : order.find((name) => name !== first) ?? "";
    const names = models.map((name) => ({ value: name, label: name }));
    const sizes = groups.map(({ name, n }) => ({ value: name, label: `${name} (${n.toLocaleString("en")})` }));
    return [
      { name: "group", label: "Studies", choices: sizes, value: group.name },
      { name: "metric", label: "Ranked by", choices: metrics.map(({ name, label }) => ({ value: name, label })), value: metric.name },
      { name: "a", label: "Model A", choices: names, value: first },
      { name: "b", label: "Model B", choices: [{ value: "", label: "none: A alone" }, ...names], value: second },
    ];
  }

  overview() {
    this.board = el("div", { id: "board" });
    this.pairs = el("div", { id: "pairs" });
    this.errors = el("div", { id: "errors" });
    return el("div", {}, el("h2", {}, "Leaderboard"), this.board,
      el("h2", {}, "Pairwise significance tests"), this.pairs,
      el("h2", {}, "Errors of each model"), this.errors);
  }

  below() {
    const { correlations } = this.data;
    const figures = el("div", {});
    load("figures").then((all) => figures.replaceChildren(figuresSection(all)));
    return [correlations.length ? el("section", { id: "correlations" },
      el("h2", {}, "Do the metrics agree?"),
      el("p", { class: "small" }, "Over the reports of all models that have both values. ",
        "− before a metric: less is better; its values are negated."),
      correlations.map(printedTable)) : null, figures];
  }

  #draw(group, metric, model, app) {
    const { models, tested, definitions } = this.data;
    redraw(this.board, this.#board(group, metric, app), el("p", { class: "small" },
      `${count(group.n, "study", "studies")}. Mean or share with its 95% interval; n = scored studies if fewer. `
      + "A heading ranks by its metric; a number lists its studies. A line below a model: it differs significantly from the next. "
      + `${definitions ? `${definitions}.` : ""}`));
    // A test as one of its two models sees it.
    const tests = (group.tests[metric.name] ?? []).filter(({ a, b }) => a === model || b === model).map((test) => {
      const { text, interval } = test.differences[test.a === model ? 0 : 1];
      return [models[test.a === model ? test.b : test.a], trueMinus(text), trueMinus(interval) || NO_VALUE, test.p,
        `${test.p_holm}${test.is_significant ? " *" : ""}`, test.n.toLocaleString("en")];
    });
    const title = `${models[model]} minus the other, ${metric.label} (${metric.higher ? "higher" : "lower"} is better), ${group.name}`;
    this.pairs.replaceChildren(...(tests.length
      ? [printedTable({ title, head: ["Other model", "Difference", "95% interval", "p", "p (Holm)", "Studies"], rows: tests, n_left: 1 }),
        el("p", { class: "small" }, tested, " * marks a corrected p below 0.05.")]
      : [el("p", { class: "empty" }, tested ? `Nothing was tested for ${group.name}.` : "This comparison was made without tests.")]));
    this.errors.replaceChildren(...group.errors.map(printedTable), el("p", { class: "small" }, group.errors.length
      ? "Errors per study, of the studies that were scored for the model. An error of several categories is counted in each, "
        + "and once in the last column." : "No errors are counted here."));
  }

  #board(group, metric, app) {
    const { metrics, models, rubrics } = this.data;
    const intervals = group.rank_intervals[metric.name];
    const hasOneRubric = Object.keys(rubrics).length === 1;
    const heading = ({ name, short, label, higher }) => el("th", {
      scope: "col", class: "numbers", "aria-sort": metric.name === name ? (higher ? "descending" : "ascending") : null,
    }, button([isolated(hasOneRubric ? short : label), el("span", { "aria-hidden": "true" }, higher ? " ↑" : " ↓"),
      el("span", { class: "unseen" }, higher ? ", higher is better" : ", lower is better")],
    () => app.set({ metric: name }), { class: "sort", "data-act": `rank ${name}` }));
    const cell = (model, { name, label }) => {
      const { n, figure, interval } = group.cells[name][model];
      if (!n) return el("td", { class: "numbers" }, figure);
      return el("td", { class: "numbers" },
        button(trueMinus(figure), () => this.#listStudies(model, name, group, app), {
          class: "cell", "data-act": `${model} ${name}`,
          "aria-label": `${label} of ${models[model]}: ${trueMinus(`${figure} ${interval}`)}, list its studies`,
        }),
        el("span", { class: "small", "aria-hidden": "true" }, trueMinus(interval)),
        n === group.n ? null : el("span", { class: "small" }, `n = ${n.toLocaleString("en")}`));
    };
    const order = ranking(group, metric.name);
    const isGap = (model, next) => (group.tests[metric.name] ?? []).some(({ a, b, is_significant: isSignificant }) =>
      isSignificant && [a, b].includes(model) && [a, b].includes(next));
    const row = (model, place) => el("tr", { class: isGap(model, order[place + 1]) ? "gap" : null },
      el("td", { class: "numbers" }, group.cells[metric.name][model].rank ?? NO_VALUE),
      intervals ? el("td", { class: "numbers" }, intervals[model] ? `${intervals[model].low}–${intervals[model].high}` : NO_VALUE) : null,
      el("th", { scope: "row" }, isolated(models[model]), isGap(model, order[place + 1])
        ? el("span", { class: "unseen" }, `, differs significantly from ${models[order[place + 1]]}`) : null),
      metrics.map((entry) => cell(model, entry)));
    const stub = (text, kind) => el("th", { scope: "col", class: kind }, text);
    return grid("board", "Leaderboard; a heading ranks by its metric, a number lists its studies",
      [stub("Rank", "numbers"), intervals ? stub("Rank, 95% interval", "numbers") : null, stub("Model", "words"), metrics.map(heading)],
      order.map(row));
  }

  // The studies of a number: against the best other model, which leads or comes next.
  async #listStudies(model, metric, group, app) {
    const { models } = this.data;
    const order = ranking(group, metric);
    const other = order.find((candidate) => candidate !== model);
    await app.set({
      metric, a: models[model], b: other === undefined ? "" : models[other],
      sort: "ahead", descending: String(order[0] === model),
    });
    goTo(find("#studies-title"), "start");
  }

  #values(name) {
    const place = this.data.metrics.findIndex((metric) => metric.name === name);
    if (!this.series.has(place)) this.series.set(place, loadSeries(`values-${place}`, this.index.study_id.length));
    return this.series.get(place);
  }

  // A study's value as it is printed; whole numbers where all of the metric's are.
  #text({ name, kind }, value) {
    if (value === null) return NO_VALUE;
    if (kind === "rate") return value === 1 ? "no" : "yes";
    return trueMinus(number(value, this.index.whole.includes(name) ? 0 : 3));
  }

  async listing(app) {
    const { groups, models, metrics } = this.data;
    const group = groups.find(({ name }) => name === app.param("group"));
    const metric = metrics.find(({ name }) => name === app.param("metric"));
    const [a, b] = [models.indexOf(app.param("a")), models.indexOf(app.param("b"))];
    const value = await this.#values(metric.name);
    const { study_id: ids, fields, packets } = this.index;
    const wanted = Object.entries(group.key).map(([name, text]) => [fields[name].rows, fields[name].values.indexOf(text)]);
    const rows = [...ids.keys()].filter((row) => wanted.every(([codes, code]) => codes[row] === code));
    const ahead = rows.map((row) => {
      const [first, second] = [value(row, a), b < 0 ? 0 : value(row, b)];
      return first === null || second === null ? null : (metric.study_higher ? 1 : -1) * (first - second);
    });
    this.rows = rows;
    this.chosen = [a, b].filter((model) => model >= 0);
    this.metric = metric;
    this.#draw(group, metric, a, app);
    const fieldOf = (name) => (row) => fields[name].values[fields[name].rows[rows[row]]];
    const difference = (row) => (metric.kind === "rate" && ahead[row] !== null
      ? ["behind", "equal", "ahead"][ahead[row] + 1] : this.#text(metric, ahead[row]));
    const judged = (letter, model) => ({
      name: letter.toLowerCase(), label: `${letter}: ${models[model]}`, kind: "number",
      value: (row) => value(rows[row], model), draw: (row) => this.#text(metric, value(rows[row], model)),
    });
    const state = (row) => (ahead[row] === null ? "not scored" : b < 0 ? "scored"
      : ahead[row] > 0 ? "A ahead" : ahead[row] < 0 ? "A behind" : "equal");
    const states = b < 0 ? ["scored", "not scored"] : ["A ahead", "equal", "A behind", "not scored"];
    const choosable = Object.entries(fields).filter(([, { values }]) => values.length > 1 && values.length <= MAX_VALUES);
    return new Listing({
      ids: rows.map((row) => ids[row]),
      order: orderBy(ahead, (difference_) => difference_ ?? -Infinity),
      ordered: b < 0 ? "best first" : "A's biggest wins first",
      about: (all) => states.map((word) => `${word}: ${all.filter((row) => state(row) === word).length}`).join(", "),
      columns: [
        { name: "study_id", label: "study", kind: "id", value: (row) => ids[rows[row]] },
        ...Object.keys(fields).slice(0, SHOWN_FIELDS).map((name) => ({ name: `field.${name}`, label: name, kind: "field", value: fieldOf(name) })),
        judged("A", a),
        ...(b < 0 ? [] : [judged("B", b), { name: "ahead", label: "A ahead by", kind: "number", value: (row) => ahead[row], draw: difference }]),
      ],
      filters: [
        choiceFilter("state", "Result", states, state),
        ...(this.isPartial
          ? [choiceFilter("here", "Reports on this page", ["yes", "no"], (row) => (packets[rows[row]] >= 0 ? "yes" : "no"))] : []),
        textFilter("id", "Study id", (row) => ids[rows[row]]),
        ...choosable.map(([name, { values }]) => choiceFilter(`field.${name}`, name, values, fieldOf(name), true)),
      ],
    });
  }

  async study(place) {
    const row = this.rows[place];
    const { models, metrics, rubrics, runs = [] } = this.data;
    const { study_id: ids, fields } = this.index;
    const id = ids[row];
    const records = await this.#records(row, id);
    const values = await Promise.all(metrics.map(({ name }) => this.#values(name)));
    const names = Object.keys(rubrics).length ? Object.keys(rubrics) : [null];
    // Marks of one rubric: that of the metric, where it marks any.
    const marking = names.find((name) => name === this.metric.rubric && this.labels[name]?.hasGraded)
      ?? names.find((name) => this.labels[name]?.hasGraded);
    const columns = this.chosen.flatMap((model, side) => names.map((rubric, at) => {
      const run = runs.find((entry) => entry.model === model && entry.rubric === rubric)?.run;
      const letter = "AB"[side];
      const facts = metrics.map((metric, series) => [metric, values[series](row, model)])
        .filter(([metric, value]) => value !== null && (metric.rubric === rubric || (!at && metric.rubric === null)));
      return {
        key: `${letter}${at}-`, letter, isMarked: rubric === marking, labels: this.labels[rubric] ?? null,
        title: `${letter}: ${models[model]}${names.length > 1 ? ` (${rubrics[rubric].title})` : ""}`,
        record: records.find((entry) => entry.model === model && entry.rubric === rubric) ?? null,
        facts: facts.map(([metric, value]) => [metric.study_label, this.#text(metric, value)]),
        note: facts.length ? null : "not scored",
        link: run ? el("a", { href: `/runs/${encodeURIComponent(run)}#${new URLSearchParams({ study: id })}` }, "Open in its run") : null,
      };
    }));
    return {
      id,
      facts: Object.keys(fields).map((name) => [name, isolated(fields[name].values[fields[name].rows[row]])]),
      intro: records.length ? null : el("p", {}, "The reports of this study are not in this page; judge audit shows them."),
      columns,
    };
  }

  // The records of a study in the page; a service takes them from each model's own runs.
  async #records(row, id) {
    const packet = this.index.packets?.[row];
    if (isFile()) return packet >= 0 ? (await load(`packet-${packet}`))[row] : [];
    const runs = this.data.runs.filter(({ model }) => this.chosen.includes(model));
    return Promise.all(runs.map(async ({ model, rubric, run }) => {
      const { view } = await ask(`/v1/runs/${encodeURIComponent(run)}/study?${new URLSearchParams({ id })}`);
      return { ...view, model, rubric };
    }));
  }
}

// Models by rank, those without a figure last, equal ones in their given order.
function ranking(group, metric) {
  const ranks = group.cells[metric].map(({ rank }) => rank ?? Infinity);
  return [...ranks.keys()].sort((a, b) => (ranks[a] === ranks[b] ? a - b : ranks[a] - ranks[b]));
}
