// The page of a comparison: the leaderboard with its tests, and the studies behind every number.

import { App, figuresSection } from "./app.js";
import { button, el, frame, grid, isolated, printedTable } from "./dom.js";
import { Listing, choiceFilter, orderBy } from "./list.js";
import { ask, figureAddress, isFile, load, loadSeries, packets } from "./load.js";
import { NOTHING, count, itemLabels, number, percent, trueMinus } from "./words.js";

const FIELDS = 3;
const MOST_VALUES = 50;

export async function comparisonPage() {
  const query = new URLSearchParams(location.search);
  const addressOf = (name) => `/v1/comparison/${name.replace("-", "/")}?${query}`;
  const top = isFile() ? []
    : [el("a", { href: "/" }, "All runs"), el("a", { href: `/?${query}` }, "Change what is compared")];
  const heading = el("h1", {}, "Comparing ...");
  if (!isFile()) frame(el("header", { class: "top" }, heading, top), el("main", { id: "main" }));
  const [overview, columns] = await Promise.all([load("overview", addressOf), load("columns", addressOf)]).catch((error) => {
    heading.textContent = "These runs cannot be compared";
    throw error;
  });
  await new App(new ComparisonView(overview, columns, addressOf, top)).start();
}

class ComparisonView {
  constructor(overview, index, addressOf, top) {
    const { models, records, rubrics, signature, notes } = overview;
    Object.assign(this, { data: overview, index, addressOf, top, signature, notes });
    this.title = `Comparison of ${count(models.length, "model")}`;
    this.isPartial = Boolean(records) && records.here < records.all;
    this.footer = this.isPartial ? `This page holds ${records.here.toLocaleString("en")} of `
      + `${records.all.toLocaleString("en")} judged reports (${percent(records.here / records.all)}): `
      + "those of the studies in which models differ most. The values of all studies are here." : null;
    this.labels = Object.fromEntries(Object.entries(rubrics).map(([name, rubric]) => [name, itemLabels(rubric)]));
    this.packetOf = packets();
    this.series = new Map();
  }

  // One group, ranked by a metric; model A, whose tests are shown, against B.
  params(app) {
    const { groups, models, metrics, sort } = this.data;
    const chosen = (name, all, standard) => all.find((each) => each.name === app.query.get(name)) ?? standard;
    const group = chosen("group", groups, groups[0]);
    const metric = chosen("metric", metrics, metrics.find(({ name }) => name === sort));
    const order = ranking(group, metric.name).map((at) => models[at]);
    const [a, b] = [app.query.get("a"), app.query.get("b")];
    const first = models.includes(a) ? a : order[0];
    const second = b === "" || models.includes(b) ? b : order.find((name) => name !== first) ?? "";
    const named = models.map((name) => ({ value: name, label: name }));
    const sized = groups.map(({ name, n }) => ({ value: name, label: `${name} (${n.toLocaleString("en")})` }));
    return [
      { name: "group", label: "Studies", choices: sized, value: group.name },
      { name: "metric", label: "Ranked by", choices: metrics.map(({ name, label }) => ({ value: name, label })), value: metric.name },
      { name: "a", label: "Model A", choices: named, value: first },
      { name: "b", label: "Model B", choices: [{ value: "", label: "none: A alone" }, ...named], value: second },
    ];
  }

  overview() {
    const [board, pairs, errors] = ["board", "pairs", "errors"].map((id) => el("div", { id }));
    Object.assign(this, { board, pairs, errors });
    return el("div", {}, el("h2", { tabindex: "-1" }, "Leaderboard"), board,
      el("h2", {}, "Pairwise significance tests"), pairs,
      el("h2", {}, "What each model gets wrong"), errors);
  }

  below() {
    const { correlations } = this.data;
    this.figures = el("div", {});
    return el("div", {}, correlations.length ? el("section", { id: "correlations" },
      el("h2", {}, "Do the metrics agree?"),
      el("p", { class: "small" }, "Over the reports of all models that have both values. ",
        "− before a metric: less is better; its values are negated."),
      correlations.map((table, at) => el("details", { open: at === 0 }, el("summary", {}, table.title), printedTable(table)))) : null,
    this.figures);
  }

  // The tables are there before the figures are.
  async started() {
    const address = isFile() ? figureAddress : async (at) => this.addressOf(`figures-${at}`);
    this.figures.replaceChildren(figuresSection(await load("figures", this.addressOf), address));
  }

  #draw(group, metric, model, app) {
    const { models, tested } = this.data;
    this.board.replaceChildren(this.#board(group, metric, app), el("p", { class: "small" },
      `${count(group.n, "study", "studies")}. Mean or share with its 95% interval; n = scored studies if fewer. `
      + "A heading ranks by its metric; a number lists its studies.", this.data.definitions ? ` ${this.data.definitions}.` : null));
    // A test as one of its two models sees it.
    const tests = (group.tests[metric.name] ?? []).filter(({ a, b }) => a === model || b === model).map((test) => {
      const { text, interval } = test.differences[test.a === model ? 0 : 1];
      return [models[test.a === model ? test.b : test.a], trueMinus(text), trueMinus(interval) || NOTHING, test.p,
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
    const isOfOne = Object.keys(rubrics).length === 1;
    const heading = ({ name, short, label, higher }) => el("th", {
      scope: "col", class: "numbers metric", "aria-sort": metric.name === name ? (higher ? "descending" : "ascending") : null,
    }, button([isolated(isOfOne ? short : label), el("span", { "aria-hidden": "true" }, higher ? " ↑" : " ↓"),
      el("span", { class: "unseen" }, higher ? ", higher is better" : ", lower is better")],
    () => app.set({ metric: name }), { class: "sort", "data-metric": name }));
    const ends = new Map(metrics.map(({ name }) => {
      const known = group.cells[name].flatMap(({ value, low, high }) => [value, low, high]).filter((value) => value !== null);
      return [name, [Math.min(...known), Math.max(...known)]];
    }));
    const cell = (model, { name, label }) => {
      const { n, figure, interval, ...values } = group.cells[name][model];
      if (!n) return el("td", { class: "numbers zero" }, figure);
      return el("td", { class: "numbers" },
        button(trueMinus(figure), () => this.#behind(model, name, group, app), {
          class: "cell", "data-cell": `${model} ${name}`,
          "aria-label": `${label} of ${models[model]}: ${trueMinus(`${figure} ${interval}`)}, list its studies`,
        }),
        dot(values, ends.get(name)),
        el("span", { class: "small", "aria-hidden": "true" }, trueMinus(interval)),
        n === group.n ? null : el("span", { class: "small" }, `n = ${n.toLocaleString("en")}`));
    };
    const row = (model) => el("tr", {},
      el("td", { class: "numbers" }, group.cells[metric.name][model].rank ?? NOTHING),
      intervals ? el("td", { class: "numbers" }, intervals[model] ? `${intervals[model].low}–${intervals[model].high}` : NOTHING) : null,
      el("th", { scope: "row", class: "model" }, isolated(models[model])),
      metrics.map((each) => cell(model, each)));
    const stub = (text, kind) => el("th", { scope: "col", class: kind }, text);
    return grid("board", "Leaderboard; a heading ranks by its metric, a number lists its studies",
      [stub("Rank", "numbers"), intervals ? stub("Rank, 95% interval", "numbers") : null, stub("Model", "model"), metrics.map(heading)].filter(Boolean),
      ranking(group, metric.name).map(row));
  }

  // The studies of a number: against the best other model, which leads or comes next.
  async #behind(model, metric, group, app) {
    const { models } = this.data;
    const order = ranking(group, metric);
    const other = order.find((at) => at !== model);
    await app.set({
      metric, a: models[model], b: other === undefined ? "" : models[other],
      sort: "ahead", descending: String(order[0] === model),
    });
    app.toList();
  }

  #values(name) {
    const at = this.data.metrics.findIndex((metric) => metric.name === name);
    if (!this.series.has(at)) this.series.set(at, loadSeries(`values-${at}`, this.index.study_id.length, this.addressOf));
    return this.series.get(at);
  }

  // A study's value as it is printed; whole numbers where all of the metric's are.
  #text({ name, kind }, value) {
    if (value === null) return NOTHING;
    if (kind === "rate") return value === 1 ? "no" : "yes";
    return trueMinus(number(value, this.index.whole.includes(name) ? 0 : 3));
  }

  #hasReports(row) {
    return !isFile() || this.index.packets[row] >= 0;
  }

  async listing(app) {
    const { groups, models, metrics } = this.data;
    const group = groups.find(({ name }) => name === app.param("group"));
    const metric = metrics.find(({ name }) => name === app.param("metric"));
    const [a, b] = [models.indexOf(app.param("a")), models.indexOf(app.param("b"))];
    const value = await this.#values(metric.name);
    const { study_id: ids, fields } = this.index;
    const wanted = Object.entries(group.key).map(([name, text]) => [fields[name].rows, fields[name].values.indexOf(text)]);
    const rows = [...ids.keys()].filter((row) => wanted.every(([codes, code]) => codes[row] === code));
    const ahead = rows.map((row) => {
      const [own, other] = [value(row, a), b < 0 ? 0 : value(row, b)];
      return own === null || other === null ? null : (metric.study_higher ? 1 : -1) * (own - other);
    });
    Object.assign(this, { rows, chosen: [a, b].filter((model) => model >= 0), metric });
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
    const hasReports = (row) => (this.#hasReports(rows[row]) ? "yes" : "no");
    return new Listing({
      key: "comparison",
      ids: rows.map((row) => ids[row]),
      order: orderBy(ahead, (x) => x ?? -Infinity),
      ordered: b < 0 ? "best first" : "A's biggest wins first",
      about: (all) => this.#standing(all, state),
      columns: [
        { name: "study_id", label: "study", kind: "id", value: (row) => ids[rows[row]] },
        ...Object.keys(fields).map((name, at) => ({ name: `field.${name}`, label: name, kind: "text", value: fieldOf(name), shown: at < FIELDS })),
        judged("A", a),
        ...(b < 0 ? [] : [judged("B", b), { name: "ahead", label: "A ahead by", kind: "number", value: (row) => ahead[row], draw: difference }]),
      ],
      filters: [
        choiceFilter("state", "Result", b < 0 ? ["scored", "not scored"] : ["A ahead", "equal", "A behind", "not scored"], state),
        ...(this.isPartial ? [choiceFilter("here", "Reports on this page", ["yes", "no"], hasReports)] : []),
        ...Object.entries(fields).filter(([, { values }]) => values.length > 1 && values.length <= MOST_VALUES)
          .map(([name, { values }]) => ({ ...choiceFilter(`field.${name}`, name, values, fieldOf(name)), more: true })),
        { name: "id", label: "Study id", kind: "text", value: (row) => ids[rows[row]] },
      ],
    });
  }

  #standing(all, state) {
    const n = (word) => all.filter((row) => state(row) === word).length;
    const missing = n("not scored");
    const left = missing ? ` ${count(missing, "study is", "studies are")} not scored${this.chosen.length < 2 ? "" : " for both"}.` : "";
    return this.chosen.length < 2 ? left : ` A is ahead in ${n("A ahead")}, behind in ${n("A behind")}, equal in ${n("equal")} of `
      + `${count(all.length - missing, "scored study", "scored studies")}.${left} `;
  }

  async study(at, app) {
    const row = this.rows[at];
    const { models, metrics, rubrics, runs = [] } = this.data;
    const { study_id: ids, fields } = this.index;
    const id = ids[row];
    const records = await this.#records(row, id);
    const values = await Promise.all(metrics.map(({ name }) => this.#values(name)));
    const names = Object.keys(rubrics).length ? Object.keys(rubrics) : [null];
    const columns = this.chosen.flatMap((model, place) => names.map((rubric, number_) => {
      const run = runs.find((each) => each.model === model && each.rubric === rubric)?.run;
      const letter = "AB"[place];
      const own = metrics.map((metric, of) => [metric, values[of](row, model)])
        .filter(([metric]) => metric.rubric === rubric || (!number_ && metric.rubric === null));
      return {
        key: `${letter}${number_}-`, letter, mark: rubric, labels: this.labels[rubric] ?? null,
        title: `${letter}: ${models[model]}${names.length > 1 ? ` (${rubrics[rubric].title})` : ""}`,
        record: records.find((each) => each.model === model && each.rubric === rubric) ?? null,
        facts: own.map(([metric, value]) => [metric.study_label, this.#text(metric, value)]),
        link: run ? el("a", { href: `/runs/${encodeURIComponent(run)}#${new URLSearchParams({ study: id })}` }, "Open in its run") : null,
      };
    }));
    const graded = names.filter((name) => this.labels[name]?.hasGraded);
    return {
      id,
      title: "Study",
      facts: Object.keys(fields).map((name) => [name, isolated(fields[name].values[fields[name].rows[row]])]),
      intro: records.length ? null : el("p", {}, "Its reports are not in this page, which holds those of the studies in which models differ most. judge audit shows them."),
      columns,
      marks: graded.map((name) => ({ value: name, label: rubrics[name].title })),
      marked: graded.includes(app.study?.marked) ? app.study.marked : graded.includes(this.metric.rubric) ? this.metric.rubric : graded[0],
    };
  }

  // What the page has of a study's reports; a service takes them from each model's own runs.
  async #records(row, id) {
    if (isFile()) return this.#hasReports(row) ? (await this.packetOf(this.index.packets[row]))[row] : [];
    const runs = this.data.runs.filter(({ model }) => this.chosen.includes(model));
    return Promise.all(runs.map(async ({ model, rubric, run }) => {
      const { view } = await ask(`/v1/runs/${encodeURIComponent(run)}/study?${new URLSearchParams({ id })}`);
      return { ...view, model, rubric };
    }));
  }
}

// Models by rank, those without a figure last, equal ones in the order they were given.
function ranking(group, metric) {
  const ranks = group.cells[metric].map(({ rank }) => rank ?? Infinity);
  return [...ranks.keys()].sort((a, b) => (ranks[a] === ranks[b] ? a - b : ranks[a] - ranks[b]));
}

// A value with its interval on the axis that the models of a metric share.
function dot({ value, low, high }, [least, most]) {
  if (value === null || value === undefined || most === least) return null;
  const place = (each) => `${(100 * (each - least)) / (most - least)}%`;
  return el("span", { class: "dots", "aria-hidden": "true" },
    low === null ? null : el("span", { class: "whisker", style: { left: place(low), right: `calc(100% - ${place(high)})` } }),
    el("span", { class: "dot", style: { left: place(value) } }));
}
