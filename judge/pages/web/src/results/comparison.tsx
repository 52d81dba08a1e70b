// The page of a comparison: the leaderboard with its tests, and the studies behind every number.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import type {
  BoardCell, BoardRow, ComparedFindings, ComparedPacket, ComparedStudies, ComparisonGroup, ComparisonOverview,
  DisagreementsOverview, DrawnFigureTexts, ListColumn, Meeting, ModelValues, PairStudies, StudyAnswer,
} from "../api.ts";
import { alarm, goTo } from "../shared/page.tsx";
import { Button, Isolated, PrintedTable, ScrollingTable } from "../shared/parts.tsx";
import type { Fact } from "../shared/parts.tsx";
import { answered, ask } from "../shared/service.ts";
import { App, ResultsPage } from "./app.tsx";
import type { Param, Screen, View } from "./app.tsx";
import { aheadBy, largestFirst, stateOf, statesOf, textOf } from "./differences.ts";
import { disagreementScreen } from "./disagreements.tsx";
import { DataColumn, Listing, choiceFilter, textFilter } from "./listing.ts";
import type { Column, Filter } from "./listing.ts";
import { embedded, embeddedBytes, isEmbedded, isFile } from "./load.ts";
import { once } from "./loading.ts";
import { meetingScreen } from "./meeting.tsx";
import type { OpenStudy, StudyColumn } from "./study.tsx";

const ADDRESS = "/v1/comparison";
const SVG = "image/svg+xml";

// Where the data of a comparison come from.
interface ComparisonData {
  overview: () => Promise<ComparisonOverview>;
  studies: () => Promise<ComparedStudies>;
  group: (place: number) => Promise<ComparisonGroup>;
  values: (model: number) => Promise<ModelValues>;
  figures: () => Promise<DrawnFigureTexts>;
  figure: (place: number) => Promise<Blob>;
  // What was said of the reports of some models; nothing where the file does not have them.
  findings: (row: number, id: string, models: readonly number[]) => Promise<ComparedFindings[]>;
  // The other screens; a file of numbers alone has none.
  screens: readonly Screen[];
}

class FileData implements ComparisonData {
  #packets: number[] = [];

  overview = () => embedded<ComparisonOverview>("overview");
  group = (place: number) => embedded<ComparisonGroup>(`group-${place}`);
  values = (model: number) => embedded<ModelValues>(`values-${model}`);
  figures = () => embedded<DrawnFigureTexts>("figures");
  screens = isEmbedded("meeting") ? screensOf((name) => embedded(name.replace("/", "-"))) : [];

  async studies(): Promise<ComparedStudies> {
    const studies = await embedded<ComparedStudies>("studies");
    this.#packets = studies.packets ?? [];
    return studies;
  }

  async figure(place: number): Promise<Blob> {
    return new Blob([await embeddedBytes(`figure-${place}`)], { type: SVG });
  }

  async findings(row: number): Promise<ComparedFindings[]> {
    const number = this.#packets[row] ?? -1;
    if (number < 0) return [];
    const packet = await embedded<ComparedPacket>(`packet-${number}`);
    return packet.studies[packet.rows.indexOf(row)]?.studies ?? [];
  }
}

class ServiceData implements ComparisonData {
  #runs: ComparisonOverview["runs"] = [];

  async overview(): Promise<ComparisonOverview> {
    const overview = await this.#ask<ComparisonOverview>("");
    this.#runs = overview.runs;
    return overview;
  }

  studies = () => this.#ask<ComparedStudies>("/studies");
  group = (place: number) => this.#ask<ComparisonGroup>(`/groups/${place}`);
  values = (model: number) => this.#ask<ModelValues>(`/values/${model}`);
  figures = () => this.#ask<DrawnFigureTexts>("/figures");
  screens = screensOf((name) => this.#ask(`/${name}`));

  async figure(place: number): Promise<Blob> {
    const response = await answered(this.#address(`/figures/${place}`));
    return new Blob([await response.arrayBuffer()], { type: SVG });
  }

  // From each model's own runs.
  findings(_: number, id: string, models: readonly number[]): Promise<ComparedFindings[]> {
    const runs = this.#runs.filter(({ model }) => models.includes(model));
    return Promise.all(runs.map(async ({ model, rubric, run }) => {
      const answer = await ask<StudyAnswer>(`/v1/runs/${encodeURIComponent(run)}/study`, { query: { id } });
      return { model, rubric, findings: answer.study.findings };
    }));
  }

  // The address of a part; all take the query of the page.
  #address(path: string): string {
    return `${ADDRESS}${path}${location.search}`;
  }

  #ask<Answer>(path: string): Promise<Answer> {
    return ask<Answer>(this.#address(path));
  }
}

function screensOf(load: <Data>(name: string) => Promise<Data>): Screen[] {
  return [
    meetingScreen(() => load<Meeting>("meeting")),
    disagreementScreen({
      overview: () => load<DisagreementsOverview>("disagreements"),
      studies: (pair) => load<PairStudies>(`disagreements/${pair}`),
    }),
  ];
}

export async function comparisonPage(show: (content: ComponentChildren) => void): Promise<ComponentChildren> {
  const data = isFile() ? new FileData() : new ServiceData();
  if (!isFile()) show(<Announced heading="Comparing ..." text="Thousands of studies take some minutes." />);
  try {
    const [overview, studies] = await Promise.all([data.overview(), data.studies()]);
    return <ResultsPage app={await App.start(new ComparisonView(overview, studies, data))} />;
  } catch (error) {
    if (isFile()) throw error;
    alarm(error);
    const text = "Choose other runs, or change what is compared.";
    return <Announced heading="These runs cannot be compared" text={text} />;
  }
}

// The page of the service before there is a comparison.
function Announced({ heading, text }: { heading: string; text: string }) {
  return (
    <>
      <header class="top"><h1>{heading}</h1><Links /></header>
      <main id="main"><p role="status">{text}</p></main>
    </>
  );
}

function Links() {
  return (
    <>
      <a href="/">All runs</a>
      <a href={`/${location.search}`}>Change what is compared</a>
    </>
  );
}

// What the list shows: a group, a metric, and one model or two; `rows` are the studies of the group.
interface Shown {
  group: ComparisonGroup;
  metric: number;
  models: readonly number[];
  rows: readonly number[];
}

// A column of all studies for the rows of a group.
function ofRows(column: Column, rows: readonly number[], changes: Partial<Column>): Column {
  const studyOf = (row: number) => rows[row] ?? 0;
  return {
    ...column,
    rank: (row) => column.rank(studyOf(row)),
    text: (row) => column.text(studyOf(row)),
    ...changes,
  };
}

class ComparisonView implements View {
  readonly title: string;
  readonly notes: readonly string[];
  readonly signature: string;
  readonly footer: string;
  readonly top: ComponentChildren;
  readonly screens: readonly Screen[];
  readonly #fields: readonly DataColumn[];
  readonly #values = new Map<number, Promise<readonly DataColumn[]>>();
  readonly #groups = new Map<number, Promise<ComparisonGroup>>();
  // What each list shows, so that a study is always that of the list it was chosen from.
  readonly #shown = new WeakMap<Listing, Shown>();

  constructor(
    readonly data: ComparisonOverview, readonly studies: ComparedStudies, readonly source: ComparisonData,
  ) {
    this.title = data.title;
    this.notes = data.notes;
    this.signature = data.signature;
    this.footer = data.footer;
    this.top = isFile() ? null : <Links />;
    this.screens = source.screens;
    this.#fields = studies.fields.map((column) => new DataColumn(column));
  }

  // A group, the metric that ranks it, and model A against B.
  params(query: URLSearchParams): Param[] {
    const { groups, models, metrics, ranked_by: rankedBy, words } = this.data;
    const group = Math.max(0, groups.findIndex(({ name }) => name === query.get("group")));
    const asked = metrics.findIndex(({ name }) => name === query.get("metric"));
    const metric = asked < 0 ? rankedBy : asked;
    const order = this.order(group, metric).map((model) => models[model] ?? "");
    const a = query.get("a");
    const b = query.get("b");
    const first = a !== null && models.includes(a) ? a : order[0] ?? "";
    const second = b !== null && (b === "" || models.includes(b)) ? b : order.find((name) => name !== first) ?? "";
    const names = models.map((name) => ({ value: name, text: name }));
    return [
      {
        name: "group", label: "Studies", value: groups[group]?.name ?? "",
        choices: groups.map(({ name, label }) => ({ value: name, text: label })),
      },
      {
        name: "metric", label: "Ranked by", value: metrics[metric]?.name ?? "",
        choices: metrics.map(({ name, label }) => ({ value: name, text: label })),
      },
      { name: "a", label: "Model A", choices: names, value: first },
      { name: "b", label: "Model B", choices: [{ value: "", text: words.alone }, ...names], value: second },
    ];
  }

  // The models of a group by rank.
  order(group: number, metric: number): readonly number[] {
    return this.data.groups[group]?.orders[metric] ?? [];
  }

  overview = (app: App) => {
    const shown = this.#shown.get(app.state.listing);
    return shown && <Boards view={this} shown={shown} app={app} />;
  };

  below = () => (
    <>
      {this.data.correlations.length > 0 && (
        <section id="correlations">
          <h2>Do the metrics agree?</h2>
          <p class="small">{this.data.about_correlations}</p>
          {this.data.correlations.map((table) => <PrintedTable key={table.title} {...table} />)}
        </section>
      )}
      <Figures source={this.source} />
    </>
  );

  // The studies behind a number: against the best other model, which leads or comes next.
  async listStudies(model: number, metric: number, app: App): Promise<void> {
    const { models, metrics, groups } = this.data;
    const group = groups.findIndex(({ name }) => name === app.param("group"));
    const order = this.order(group, metric);
    const other = order.find((candidate) => candidate !== model);
    await app.change({
      metric: metrics[metric]?.name ?? null,
      a: models[model] ?? null,
      b: other === undefined ? "" : models[other] ?? "",
      sort: "ahead",
      descending: String(order[0] === model),
    });
    goTo(document.getElementById("studies-title"), "start");
  }

  #group(place: number): Promise<ComparisonGroup> {
    return once(this.#groups, place, () => this.source.group(place));
  }

  #columns(model: number): Promise<readonly DataColumn[]> {
    const load = async () => (await this.source.values(model)).columns.map((column: ListColumn) => new DataColumn(column));
    return once(this.#values, model, load);
  }

  async listing(params: ReadonlyMap<string, string>): Promise<Listing> {
    const { groups, models, metrics } = this.data;
    const metric = metrics.findIndex(({ name }) => name === params.get("metric"));
    const chosen = [params.get("a"), params.get("b")].map((name) => models.indexOf(name ?? ""));
    const compared = chosen.filter((model) => model >= 0);
    const [group, ...columns] = await Promise.all([
      this.#group(groups.findIndex(({ name }) => name === params.get("group"))),
      ...compared.map((model) => this.#columns(model)),
    ]);
    const shown: Shown = { group, metric, models: compared, rows: group.rows };
    const listing = this.#list(shown, columns.map((ofModel) => ofModel[metric]!));
    this.#shown.set(listing, shown);
    return listing;
  }

  // The list of a group by the values of A, and of B where it is chosen.
  #list({ metric, models, rows }: Shown, values: readonly DataColumn[]): Listing {
    const { words, metrics } = this.data;
    const { sign, ahead: steps } = metrics[metric]!;
    const [a, b] = values as [DataColumn, DataColumn | undefined];
    const hasB = b !== undefined;
    const ahead = rows.map((row) => aheadBy(a.number(row), b?.number(row), sign));
    const states = statesOf(words, hasB);
    const stateOfRow = (row: number) => stateOf(ahead[row] ?? null, words, hasB);
    const ids = rows.map((row) => this.studies.study_id[row] ?? "");
    const columns: Column[] = [
      { name: "study_id", label: "study", kind: "id", largestFirst: false, rank: (row) => row, text: (row) => ids[row] ?? "" },
      ...this.#fields.filter(({ data }) => data.is_shown)
        .map((field) => ofRows(field, rows, { name: `field.${field.name}` })),
      ...values.map((column, side) => {
        const letter = "AB"[side] ?? "";
        const label = `${letter}: ${this.data.models[models[side] ?? 0] ?? ""}`;
        return ofRows(column, rows, { name: letter.toLowerCase(), label });
      }),
    ];
    if (hasB) {
      columns.push({
        name: "ahead",
        label: words.ahead_by,
        kind: "number",
        largestFirst: true,
        rank: (row) => ahead[row] ?? null,
        text: (row) => {
          const difference = ahead[row] ?? null;
          return difference === null ? words.missing : textOf(steps, difference);
        },
      });
    }
    return new Listing({
      noun: { one: "study", many: "studies" },
      ids,
      columns,
      order: largestFirst(ahead),
      ordered: hasB ? words.biggest_first : words.best_first,
      about: (all) => {
        const counts = new Map(states.map((state) => [state, 0]));
        for (const row of all) counts.set(stateOfRow(row), (counts.get(stateOfRow(row)) ?? 0) + 1);
        return states.map((state) => `${state}: ${counts.get(state) ?? 0}`).join(", ");
      },
      filters: [
        choiceFilter({
          name: "state", label: words.state, choices: states.map(asChoice),
          fits: (row, wanted) => stateOfRow(row) === wanted,
        }),
        ...this.#hereFilter(rows),
        textFilter({ name: "id", label: "Study id contains", text: (row) => ids[row] ?? "" }),
        ...this.#fieldFilters(rows),
      ],
    });
  }

  #hereFilter(rows: readonly number[]): Filter[] {
    const { packets } = this.studies;
    const { words, footer } = this.data;
    if (!packets || !footer) return [];
    return [choiceFilter({
      name: "here", label: words.is_here, choices: [words.yes, words.no].map(asChoice),
      fits: (row, wanted) => ((packets[rows[row] ?? 0] ?? -1) >= 0) === (wanted === words.yes),
    })];
  }

  #fieldFilters(rows: readonly number[]): Filter[] {
    return this.#fields.filter(({ name }) => this.studies.filters.includes(name)).map((field) => choiceFilter({
      name: `field.${field.name}`, label: field.label, choices: field.data.texts.map(asChoice), isFolded: true,
      fits: (row, wanted) => field.text(rows[row] ?? 0) === wanted,
    }));
  }

  async study(place: number, listing: Listing): Promise<OpenStudy> {
    const shown = this.#shown.get(listing)!;
    const row = shown.rows[place] ?? 0;
    const id = this.studies.study_id[row] ?? "";
    const [found, ...values] = await Promise.all([
      this.source.findings(row, id, shown.models),
      ...shown.models.map((model) => this.#columns(model)),
    ]);
    return {
      id,
      facts: this.#fields.map((field) => ({ name: field.label, value: <Isolated>{field.text(row)}</Isolated> })),
      intro: found.length ? null : <p>{this.data.words.no_reports}</p>,
      columns: shown.models.flatMap((model, side) => this.data.rubrics.map((_, rubric) =>
        this.#column({ row, id, side, model, rubric, metric: shown.metric, found, values: values[side] ?? [] }))),
    };
  }

  // What a rubric says of one model's report.
  #column(
    { row, id, side, model, rubric, metric, found, values }:
    {
      row: number; id: string; side: number; model: number; rubric: number; metric: number;
      found: readonly ComparedFindings[]; values: readonly DataColumn[];
    },
  ): StudyColumn {
    const { models, metrics, rubrics, runs, words } = this.data;
    const { title, metrics: shown } = rubrics[rubric]!;
    const letter = "AB"[side] ?? "";
    const run = isFile() ? undefined : runs.find((entry) => entry.model === model && entry.rubric === rubric);
    const facts: Fact[] = shown.flatMap((place) => {
      const column = values[place];
      if (!column || column.rank(row) === null) return [];
      return [{ name: column.label, value: <Isolated>{column.text(row)}</Isolated> }];
    });
    const ofRun = found.find((entry) => entry.model === model && entry.rubric === rubric);
    return {
      key: `${letter}${rubric}-`,
      letter,
      title: `${letter}: ${models[model] ?? ""}${title && ` (${title})`}`,
      facts,
      findings: ofRun?.findings ?? null,
      isMarked: metrics[metric]?.marks === rubric,
      ...(facts.length ? {} : { note: words.not_scored }),
      ...(run ? { link: <a href={addressIn(run.run, id)}>{words.open_run}</a> } : {}),
    };
  }
}

function asChoice(text: string): { value: string; text: string } {
  return { value: text, text };
}

// The address of a study in the page of its run.
function addressIn(run: string, id: string): string {
  return `/runs/${encodeURIComponent(run)}#${new URLSearchParams({ study: id })}`;
}

interface BoardsProps {
  view: ComparisonView;
  shown: Shown;
  app: App;
}

function Boards({ view, shown, app }: BoardsProps) {
  const { group, metric, models } = shown;
  const tests = group.rankings[metric]?.tests[models[0] ?? 0];
  return (
    <div>
      <h2>Leaderboard</h2>
      <div id="board">
        <Board view={view} shown={shown} app={app} />
        <p class="small"><Isolated>{group.about}</Isolated></p>
      </div>
      <h2>Pairwise significance tests</h2>
      <div id="pairs">
        {tests && <PrintedTable {...tests} />}
        {tests ? <p class="small"><Isolated>{group.about_tests}</Isolated></p>
          : <p class="empty"><Isolated>{group.no_tests}</Isolated></p>}
      </div>
      <h2>Errors of each model</h2>
      <div id="errors">
        {group.errors.map((table) => <PrintedTable key={table.title} {...table} />)}
        <p class="small">{group.about_errors}</p>
      </div>
    </div>
  );
}

function Board({ view, shown: { group, metric: rankedBy }, app }: BoardsProps) {
  const { metrics } = view.data;
  return (
    <ScrollingTable kind="board" caption="Leaderboard; a heading ranks by its metric, a number lists its studies">
      <thead>
        <tr>
          <th scope="col" class="numbers">Rank</th>
          {group.has_intervals && <th scope="col" class="numbers">Rank, 95% interval</th>}
          <th scope="col" class="words">Model</th>
          {metrics.map(({ name, heading, direction, arrow, order }, metric) => (
            <th
              key={name}
              scope="col"
              class="numbers"
              aria-sort={metric === rankedBy ? order : undefined}
            >
              <Button class="sort" data-act={`rank ${name}`} onClick={() => void app.change({ metric: name })}>
                <Isolated>{heading}</Isolated>
                <span aria-hidden="true"> {arrow}</span>
                <span class="unseen">, {direction}</span>
              </Button>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {group.rankings[rankedBy]?.rows.map((row) => (
          <BoardLine key={row.model} row={row} group={group} view={view} app={app} />
        ))}
      </tbody>
    </ScrollingTable>
  );
}

function BoardLine(
  { row: { model, rank, interval, differs }, group, view, app }:
  { row: BoardRow; group: ComparisonGroup; view: ComparisonView; app: App },
) {
  const { metrics, models } = view.data;
  return (
    <tr class={differs ? "gap" : undefined}>
      <td class="numbers">{rank}</td>
      {group.has_intervals && <td class="numbers">{interval}</td>}
      <th scope="row">
        <Isolated>{models[model] ?? ""}</Isolated>
        {differs && <span class="unseen"><Isolated>{differs}</Isolated></span>}
      </th>
      {metrics.map(({ name }, metric) => (
        <Figure
          key={name}
          cell={group.cells[metric]![model]!}
          act={`${model} ${name}`}
          list={() => void view.listStudies(model, metric, app)}
        />
      ))}
    </tr>
  );
}

function Figure({ cell, act, list }: { cell: BoardCell; act: string; list: () => void }) {
  const { text, interval, n, label, is_scored: isScored } = cell;
  if (!isScored) return <td class="numbers">{text}</td>;
  return (
    <td class="numbers">
      <Button class="cell" data-act={act} aria-label={label} onClick={list}>{text}</Button>
      <span class="small" aria-hidden="true">{interval}</span>
      {n && <span class="small">{n}</span>}
    </td>
  );
}

// Drawn figures, all loaded at once, so that print has them too.
function Figures({ source }: { source: ComparisonData }) {
  const [texts, setTexts] = useState<DrawnFigureTexts | null>(null);
  useEffect(() => void source.figures().then(setTexts, alarm), [source]);
  return (
    <section id="figures" aria-labelledby="figures-title">
      <h2 id="figures-title">Figures</h2>
      {texts?.missing && <p class="small">{texts.missing}</p>}
      {texts && texts.figures.length > 0 && (
        <div class="figures">
          {texts.figures.map(({ title, caption }, place) => (
            <Drawn key={title} title={title} caption={caption} load={() => source.figure(place)} />
          ))}
        </div>
      )}
    </section>
  );
}

function Drawn({ title, caption, load }: { title: string; caption: string; load: () => Promise<Blob> }) {
  const [address, setAddress] = useState("");
  useEffect(() => void load().then((image) => setAddress(URL.createObjectURL(image)), alarm), []);
  return (
    <figure class="figure">
      <img alt={title} class="drawn" src={address || undefined} />
      <figcaption class="small"><Isolated>{caption}</Isolated></figcaption>
    </figure>
  );
}
