// The page of a comparison: the leaderboard with its tests, and the studies behind every number.

import { button, control, el, grid, isolated, option, printedTable, scrolling } from "./dom.js";
import { App, figuresSection } from "./app.js";
import { Listing } from "./list.js";
import { ask, figureAddress, isFile, load, loadSeries, packets } from "./load.js";
import { compareForm } from "./runs.js";
import { NOTHING, count, itemLabels, number, percent, trueMinus } from "./words.js";

const FIELDS = 3;
const BY = {
  "sign-flip permutation test": ({ flips, patient }) => `sign-flip permutation test, ${flips.toLocaleString("en")} random flips, ${patient === null ? "study by study" : "patient by patient"}`,
  "mcnemar mid-p": ({ patient }) => `McNemar's test, mid-p${patient === null ? "" : " (no patient has two studies here)"}`,
};
const CORRELATIONS = { pearson: "Pearson", spearman: "Spearman", kendall: "Kendall's tau-b" };

export async function comparisonPage() {
  const query = new URLSearchParams(location.search);
  const addressOf = (name) => `/v1/comparison/${name.replace("-", "/")}?${query}`;
  const top = isFile() ? [] : [el("a", { href: "/" }, "All runs"), compareForm(query)];
  const [overview, columns] = await Promise.all([load("overview", addressOf), load("columns", addressOf)]);
  await new App(new ComparisonView(overview, columns, addressOf, top)).start();
}

class ComparisonView {
  constructor(overview, index, addressOf, top) {
    Object.assign(this, { data: overview, index, addressOf, top, signature: overview.signature, notes: overview.notes });
    const { models, metrics, records, rubrics, groups } = overview;
    this.title = `Comparison of ${count(models.length, "model")}`;
    this.isPartial = Boolean(records) && records.here < records.all;
    this.footer = this.isPartial ? `This page holds ${records.here.toLocaleString("en")} of ${records.all.toLocaleString("en")} judged reports (${percent(records.here / records.all)}): `
      + "those of the studies in which models differ most. The values of all studies are here." : null;
    this.labels = Object.fromEntries(Object.entries(rubrics).map(([name, rubric]) => [name, itemLabels(rubric)]));
    this.packetOf = packets();
    this.series = new Map();
    this.others = {
      metric: (name) => metrics.some((metric) => metric.name === name), reversed: (word) => word === "true",
      model: (name) => models.includes(name),
    };
    this.groups = groups;
  }

  // What the leaderboard shows: one group, ranked by a metric, and the model whose tests are shown.
  state(app) {
    const { models, metrics, sort } = this.data;
    const group = this.groups.find(({ name }) => name === app.query.get("group")) ?? this.groups[0];
    const metric = metrics.find(({ name }) => name === app.query.get("metric")) ?? metrics.find(({ name }) => name === sort);
    const order = ranking(group, metric.name);
    const model = models.includes(app.query.get("model")) ? models.indexOf(app.query.get("model")) : order[0];
    return { group, metric, order, model, isReversed: app.query.has("reversed") };
  }

  overview(app) {
    const { models, metrics } = this.data;
    const entry = (name) => option(name, name);
    const choose = (id, label, name, options) =>
      control(id, label, el("select", { on: { change: ({ target }) => app.set({ [name]: target.value, ...(name === "metric" ? { reversed: null } : {}) }) } }, options));
    return el("div", {},
      el("section", { id: "board", "aria-labelledby": "board-title" },
        el("h2", { id: "board-title", tabindex: "-1" }, "Leaderboard"),
        el("div", { class: "filters controls" },
          choose("group", "Studies", "group", this.groups.map(({ name, n }) => option(name, `${name} (${n.toLocaleString("en")})`))),
          choose("metric", "Ranked by", "metric", metrics.map(({ name, label }) => option(name, label)))),
        this.board = el("div", {})),
      el("section", { id: "pairs", "aria-labelledby": "pairs-title" },
        el("h2", { id: "pairs-title" }, "Pairwise significance tests"),
        el("div", { class: "filters controls" }, choose("model", "Model", "model", models.map(entry))),
        this.pairs = el("div", {})),
      el("section", { "aria-labelledby": "errors-title", hidden: !this.groups[0].errors.length },
        el("h2", { id: "errors-title" }, "What each model gets wrong"), this.errors = el("div", { id: "errors" })));
  }

  below() {
    this.figures = el("div", {});
    return el("div", {}, this.#correlations(), this.figures);
  }

  // The tables are there before the figures are.
  async started() {
    const address = isFile() ? figureAddress : async (at) => this.addressOf(`figures-${at}`);
    const figures = await load("figures", this.addressOf);
    this.figures.replaceChildren(figuresSection(figures, address));
  }

  update(app) {
    const state = this.state(app);
    const { group, metric, model } = state;
    for (const [id, value] of [["group", group.name], ["metric", metric.name], ["model", this.data.models[model]]]) {
      document.getElementById(id).value = value;
    }
    const drawn = JSON.stringify([group.name, metric.name, model, state.isReversed]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const focused = document.activeElement?.dataset?.metric;
    this.board.replaceChildren(this.#board(state, app), el("p", { class: "small" },
      `${count(group.n, "study", "studies")}. Mean or share with 95% CI (studies treated as independent); n = scored studies if fewer. `
      + "A heading ranks by its metric; a number lists its studies."));
    if (focused) this.board.querySelector(`[data-metric="${CSS.escape(focused)}"]`)?.focus();
    this.pairs.replaceChildren(...this.#tests(state, app));
    this.errors.replaceChildren(...group.errors.map((table) => printedTable({ ...table, n_left: 2 })),
      el("p", { class: "small" }, group.errors.length ? "Errors per study, of the studies that were scored for the model. An error of several "
        + "categories is counted in each, and once in the last column." : "No study was scored here."));
  }

  #board({ group, metric, order, isReversed }, app) {
    const { metrics, models, rubrics } = this.data;
    const intervals = group.rank_intervals[metric.name];
    const blocks = Map.groupBy(metrics, ({ rubric }) => rubric);
    const firsts = new Set([...blocks.values()].map(([first]) => first.name));
    const block = (name) => (firsts.has(name) ? " block" : "");
    const stub = (label, kind) => el("th", { scope: "col", rowspan: "2", class: kind }, label);
    const heading = ({ name, short, higher }) => {
      const isSorted = metric.name === name;
      // Best first: upwards where less is better.
      const direction = higher === isReversed ? "ascending" : "descending";
      const sort = () => app.set({ metric: name, reversed: isSorted && !isReversed ? "true" : null });
      return el("th", { scope: "col", class: `numbers metric${block(name)}`, "aria-sort": isSorted ? direction : null },
        button([isolated(short), el("span", { "aria-hidden": "true" }, higher ? " ↑" : " ↓", isSorted ? " ●" : ""),
          el("span", { class: "unseen" }, higher ? ", higher is better" : ", lower is better")], sort, { class: "sort", "data-metric": name }));
    };
    const ends = Object.fromEntries(metrics.map(({ name }) => {
      const known = group.cells[name].flatMap(({ value, low, high }) => [value, low, high]).filter((value) => value !== null);
      return [name, [Math.min(...known), Math.max(...known)]];
    }));
    const line = (model) => {
      const { rank } = group.cells[metric.name][model];
      const isShared = rank !== null && group.cells[metric.name].filter((cell) => cell.rank === rank).length > 1;
      const interval = intervals?.[model];
      return el("tr", {},
        el("td", { class: "numbers" }, rank === null ? NOTHING : `${rank}${isShared ? "=" : ""}`),
        intervals ? el("td", { class: "numbers" }, interval ? (interval.low === interval.high ? String(interval.low) : `${interval.low}–${interval.high}`) : NOTHING) : null,
        el("th", { scope: "row", class: "model" }, isolated(models[model])),
        metrics.map((each) => {
          const cell = group.cells[each.name][model];
          if (!cell.n) return el("td", { class: `numbers zero${block(each.name)}` }, cell.figure);
          return el("td", { class: `numbers${block(each.name)}` },
            button([el("span", { class: "unseen" }, `${each.label} of ${models[model]}: `), trueMinus(cell.figure),
              el("span", { class: "unseen" }, ` ${trueMinus(cell.interval)}, list its studies`)], () => this.#behind(model, each.name, group, app), { class: "cell", "data-cell": `${model} ${each.name}` }),
            dot(cell, ends[each.name]),
            cell.interval ? el("span", { class: "small", "aria-hidden": "true" }, trueMinus(cell.interval)) : null,
            cell.n === group.n ? null : el("span", { class: "small" }, `n = ${cell.n.toLocaleString("en")}`));
        }));
    };
    const rows = isReversed ? order.toReversed() : order;
    return scrolling("Leaderboard", el("table", { class: "board" },
      el("caption", { class: "unseen" }, "Leaderboard; a heading ranks by its metric, a number lists its studies"),
      el("thead", {},
        el("tr", {}, stub("Rank", "numbers"), intervals ? stub("Rank, 95% interval", "numbers") : null, stub("Model", "model"),
          [...blocks].map(([rubric, own]) => el("th", { scope: "colgroup", colspan: String(own.length), class: "block" }, isolated(rubrics[rubric]?.title ?? "Other metrics")))),
        el("tr", {}, metrics.map(heading))),
      el("tbody", {}, rows.map(line))));
  }

  // The studies of a number: against the best other model, which leads or comes next.
  #behind(model, metric, group, app) {
    const { models } = this.data;
    const order = ranking(group, metric);
    const other = order.find((at) => at !== model);
    return this.#show({ a: models[model], b: other === undefined ? "" : models[other], by: metric, sort: "ahead", descending: String(order[0] === model) }, app);
  }

  async #show(changes, app) {
    await app.set(changes);
    const title = document.getElementById("studies-title");
    title.focus({ preventScroll: true });
    title.scrollIntoView();
  }

  #tests({ group, metric, order, model }, app) {
    const { models, resampling } = this.data;
    const tests = (group.tests[metric.name] ?? []).filter(({ a, b }) => a === model || b === model);
    if (!tests.length) return [el("p", { class: "empty" }, this.#untested(group, metric))];
    // A test as one of its two models sees it.
    const rows = tests.map((test) => ({ ...test, other: test.a === model ? test.b : test.a, difference: test.differences[test.a === model ? 0 : 1] }))
      .sort((one, other) => order.indexOf(one.other) - order.indexOf(other.other));
    const methods = [...new Set(rows.map(({ method }) => method))];
    const units = resampling.patient === null ? ["studies"] : ["whole patients (field ", isolated(resampling.patient), ")"];
    const head = ["Other model", "Difference", "95% interval", "p", "p (Holm)", "Studies"];
    return [
      grid(null, `${models[model]} minus the other, ${metric.label} (${metric.higher ? "higher" : "lower"} is better), ${group.name}`,
        head.map((text, at) => el("th", { scope: "col", class: at ? "numbers" : null }, text)),
        rows.map((row) => el("tr", {},
          el("th", { scope: "row" }, isolated(models[row.other])),
          [trueMinus(row.difference.text), trueMinus(row.difference.interval) || NOTHING, row.p].map((text) => el("td", { class: "numbers" }, text)),
          el("td", { class: "numbers" }, row.p_holm, row.is_significant ? [el("b", { "aria-hidden": "true" }, " *"), el("span", { class: "unseen" }, ", significant")] : null),
          el("td", { class: "numbers" }, button([row.n.toLocaleString("en"), el("span", { class: "unseen" }, ` studies against ${models[row.other]}`)],
            () => this.#show({ a: models[model], b: models[row.other], by: metric.name, sort: null, descending: null }, app), { class: "cell" })))), true),
      el("p", { class: "small" }, `Paired on the studies scored for both. Interval: ${count(resampling.n, "bootstrap resample")} of `, units, `, seed ${resampling.seed}. `,
        `p: ${methods.map((method) => BY[method]?.(resampling) ?? method).join(" or ")}. Holm's correction over all pairs of the metric and group. * marks a corrected p below 0.05.`),
    ];
  }

  #untested(group, metric) {
    const { models, resampling } = this.data;
    if (models.length < 2) return "There is no other model to compare with.";
    if (!resampling) return "Nothing was tested: this comparison was made without tests.";
    if (Object.keys(group.tests).length) return `No difference could be tested in ${group.name} by ${metric.label}.`;
    const fields = Object.keys(group.key).join(",");
    return `Nothing was tested for ${group.name} alone. ${isFile() ? `To test it, run judge compare again with --by ${fields}.`
      : `To test it, write ${fields} into "Subgroups" above and compare again.`}`;
  }

  #correlations() {
    const { correlations } = this.data;
    if (!correlations) return null;
    // A minus stays with its metric.
    const labels = correlations.labels.map((label) => label.replace(/^− /, "−\u00a0"));
    return el("section", { id: "correlations", "aria-labelledby": "correlations-title" },
      el("h2", { id: "correlations-title" }, "Do the metrics agree?"),
      el("p", { class: "small" }, "Over the reports of all models that have both values. ",
        labels.some((label) => label.startsWith("−")) ? "− before a metric: less is better; its values are negated, so that agreement is positive." : null),
      Object.entries(CORRELATIONS).map(([name, title], at) => el("details", { open: at === 0 }, el("summary", {}, title),
        printedTable({ title: `${title} correlation`, head: ["", ...labels], n_left: 1,
          rows: labels.map((label, row) => [label, ...correlations[name][row].map(trueMinus)]) }))));
  }

  params(app) {
    const { models, metrics } = this.data;
    const { group, metric, order } = this.state(app);
    const named = (all) => all.map((name) => ({ value: name, label: name }));
    const [a, b, by] = ["a", "b", "by"].map((name) => app.query.get(name));
    const first = models.includes(a) ? a : models[ranking(this.groups[0], this.data.sort)[0]];
    const rest = order.map((at) => models[at]).filter((name) => name !== first);
    const second = b === "" || models.includes(b) ? b : rest[0] ?? "";
    return [
      { name: "group", hidden: true, choices: named(this.groups.map(({ name }) => name)), value: group.name },
      { name: "a", label: "Model A", choices: named(models), value: first },
      { name: "b", label: "Model B", choices: [{ value: "", label: "none: this model alone" }, ...named(models)], value: second },
      { name: "by", label: "Compared by", choices: metrics.map(({ name, study_label: label }) => ({ value: name, label })), value: metrics.some(({ name }) => name === by) ? by : metric.name },
    ];
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
    const { models, metrics } = this.data;
    const metric = metrics.find(({ name }) => name === app.param("by"));
    const [a, b] = [models.indexOf(app.param("a")), models.indexOf(app.param("b"))];
    const value = await this.#values(metric.name);
    const { study_id: ids, fields } = this.index;
    const wanted = Object.entries(this.groups.find(({ name }) => name === app.param("group")).key)
      .map(([name, text]) => [fields[name].rows, fields[name].values.indexOf(text)]);
    const rows = [...ids.keys()].filter((row) => wanted.every(([codes, code]) => codes[row] === code));
    const sign = metric.study_higher ? 1 : -1;
    const ahead = rows.map((row) => {
      const [own, other] = [value(row, a), b < 0 ? 0 : value(row, b)];
      return own === null || other === null ? null : sign * (own - other);
    });
    Object.assign(this, { rows, chosen: [a, b].filter((model) => model >= 0), metric });
    const order = new Int32Array(rows.length);
    [...rows.keys()].sort((one, two) => (ahead[two] ?? -Infinity) - (ahead[one] ?? -Infinity) || one - two).forEach((row, at) => { order[row] = at; });
    const fieldOf = (name) => (row) => fields[name].values[fields[name].rows[rows[row]]];
    const of = (model) => (row) => value(rows[row], model);
    const difference = (row) => (metric.kind === "rate" && ahead[row] !== null ? ["behind", "equal", "ahead"][ahead[row] + 1] : this.#text(metric, ahead[row]));
    const judged = (letter, model) => ({
      name: letter.toLowerCase(), label: `${letter}: ${models[model]}`, kind: "number", value: of(model), draw: (row) => this.#text(metric, of(model)(row)),
    });
    const choice = (name, label, read, values) => ({
      name, label, kind: "choice", choices: values.map((text) => ({ value: text, label: text })), values: () => (row) => [read(row)],
    });
    const state = (row) => (ahead[row] === null ? "not scored" : b < 0 ? "scored" : ahead[row] > 0 ? "A ahead" : ahead[row] < 0 ? "A behind" : "equal");
    return new Listing({
      key: "comparison",
      ids: rows.map((row) => ids[row]),
      order,
      ordered: b < 0 ? "best first" : "A's biggest wins first",
      about: (all) => this.#standing(all, ahead, state),
      columns: [
        { name: "study_id", label: "study", kind: "id", value: (row) => ids[rows[row]] },
        ...Object.keys(fields).map((name, at) => ({ name: `field.${name}`, label: name, kind: "text", value: fieldOf(name), shown: at < FIELDS })),
        judged("A", a),
        ...(b < 0 ? [] : [judged("B", b), { name: "ahead", label: "A ahead by", kind: "number", value: (row) => ahead[row], draw: difference }]),
        ...(this.isPartial ? [{ name: "here", label: "reports here", kind: "text", value: (row) => (this.#hasReports(rows[row]) ? "yes" : "no") }] : []),
      ],
      filters: [
        choice("state", "Result", state, b < 0 ? ["scored", "not scored"] : ["A ahead", "equal", "A behind", "not scored"]),
        ...(this.isPartial ? [choice("here", "Reports on this page", (row) => (this.#hasReports(rows[row]) ? "yes" : "no"), ["yes", "no"])] : []),
        ...Object.entries(fields).filter(([, { values }]) => values.length > 1 && values.length <= 50)
          .map(([name, { values }]) => ({ ...choice(`field.${name}`, name, fieldOf(name), values), more: true })),
        { name: "id", label: "Study id", kind: "text", value: (row) => ids[rows[row]] },
      ],
    });
  }

  #standing(all, ahead, state) {
    const scored = all.filter((row) => ahead[row] !== null);
    const missing = all.length - scored.length;
    const left = missing ? ` ${count(missing, "study is", "studies are")} not scored${this.chosen.length < 2 ? "" : " for both"}.` : "";
    if (this.chosen.length < 2) return left;
    const n = (word) => scored.filter((row) => state(row) === word).length.toLocaleString("en");
    return el("span", {}, " A is ahead in ", n("A ahead"), `, behind in ${n("A behind")}, equal in ${n("equal")} of ${count(scored.length, "scored study", "scored studies")}.`, left, " ");
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
