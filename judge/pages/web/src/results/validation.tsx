// The page of judges beside readers: its tables, and the studies behind them.

import type {
  DisagreementsOverview, PairStudies, QuantityCounts, ValidatedPacket, ValidatedStudies, ValidationOverview,
} from "../api.ts";
import { FactList, Isolated, PrintedTable } from "../shared/parts.tsx";
import { App, ResultsPage } from "./app.tsx";
import type { Param, View } from "./app.tsx";
import { disagreementScreen } from "./disagreements.tsx";
import { DataColumn, Listing, choiceFilter, textFilter } from "./listing.ts";
import type { Column } from "./listing.ts";
import { embedded } from "./load.ts";
import { once } from "./loading.ts";
import type { OpenStudy } from "./study.tsx";

export async function validationPage() {
  const [overview, studies] = await Promise.all([
    embedded<ValidationOverview>("overview"), embedded<ValidatedStudies>("studies"),
  ]);
  return <ResultsPage app={await App.start(new ValidationView(overview, studies))} />;
}

// What the list shows: the counts of a quantity, of a judge and of all readers.
interface Shown {
  quantity: number;
  judge: number;
  raters: readonly DataColumn[];
}

class ValidationView implements View {
  readonly title: string;
  readonly notes: readonly string[];
  readonly signature: string;
  // By their places among the raters.
  readonly #judges: readonly number[];
  readonly #readers: readonly number[];
  readonly #counts = new Map<number, Promise<QuantityCounts>>();
  // What each list shows, so that a study is always that of the list it was chosen from.
  readonly #shown = new WeakMap<Listing, Shown>();

  constructor(readonly data: ValidationOverview, readonly studies: ValidatedStudies) {
    this.title = data.title;
    this.notes = data.notes;
    this.signature = data.signature;
    const places = [...data.raters.keys()];
    this.#judges = places.filter((place) => !data.raters[place]?.is_reader);
    this.#readers = places.filter((place) => data.raters[place]?.is_reader);
  }

  screens = [disagreementScreen({
    overview: () => embedded<DisagreementsOverview>("disagreements"),
    studies: (pair) => embedded<PairStudies>(`disagreements-${pair}`),
  })];

  overview = () => <Tables data={this.data} />;

  params(query: URLSearchParams): Param[] {
    const { quantities, raters } = this.data;
    const param = (name: string, label: string, choices: { value: string; text: string }[]): Param => {
      const chosen = choices.find(({ value }) => value === query.get(name)) ?? choices[0];
      return { name, label, choices, value: chosen?.value ?? "" };
    };
    const judges = this.#judges.map((place) => raters[place]?.name ?? "");
    return [
      param("quantity", "Count", quantities.map(({ name, label }) => ({ value: name, text: label }))),
      param("judge", "Judge", judges.map((name) => ({ value: name, text: name }))),
    ];
  }

  async listing(params: ReadonlyMap<string, string>): Promise<Listing> {
    const { quantities, raters, ordered } = this.data;
    const quantity = quantities.findIndex(({ name }) => name === params.get("quantity"));
    const judge = this.#judges.find((place) => raters[place]?.name === params.get("judge")) ?? 0;
    const counts = quantity < 0 ? null : await this.#load(quantity);
    const ofRaters = (counts?.raters ?? []).map((column) => new DataColumn(column));
    const ids = this.studies.study_id;
    const classes = new DataColumn(this.studies.study_class);
    const columns: Column[] = [
      { name: "study_id", label: "study", kind: "id", largestFirst: false, rank: (row) => row, text: (row) => ids[row] ?? "" },
      classes,
    ];
    const ofJudge = counts?.judges[judge];
    if (counts && ofJudge) {
      columns.push(
        ofRaters[judge]!, new DataColumn(counts.mean), new DataColumn(ofJudge.difference),
        ...this.#readers.map((place) => ofRaters[place]!),
      );
    }
    const listing = new Listing({
      noun: { one: "study", many: "studies" },
      ids,
      columns,
      filters: [
        choiceFilter({
          name: "class", label: "Class", choices: classes.data.texts.map((text) => ({ value: text, text })),
          fits: (row, wanted) => classes.text(row) === wanted,
        }),
        textFilter({ name: "id", label: "Study id contains", text: (row) => ids[row] ?? "" }),
      ],
      ...(ofJudge ? { order: ofJudge.order, ordered } : {}),
    });
    this.#shown.set(listing, { quantity, judge, raters: ofRaters });
    return listing;
  }

  #load(quantity: number): Promise<QuantityCounts> {
    return once(this.#counts, quantity, () => embedded<QuantityCounts>(`counts-${quantity}`));
  }

  async study(row: number, listing: Listing): Promise<OpenStudy> {
    const { packet, study_id: ids, study_class: classes } = this.studies;
    const { quantities, raters } = this.data;
    const { studies } = await embedded<ValidatedPacket>(`packet-${Math.floor(row / packet)}`);
    const found = studies[row % packet]?.raters ?? [];
    const shown = this.#shown.get(listing)!;
    const quantity = quantities[shown.quantity];
    return {
      id: ids[row] ?? "",
      facts: [{ name: classes.label, value: <Isolated>{new DataColumn(classes).text(row)}</Isolated> }],
      columns: [shown.judge, ...this.#readers].map((place, at) => {
        const { title, missing } = raters[place]!;
        const letter = String.fromCodePoint(65 + at);
        const counts = shown.raters[place];
        const text = counts && counts.rank(row) !== null ? counts.text(row) : missing;
        return {
          key: `r${place}-`,
          letter,
          title: `${letter}: ${title}`,
          findings: found.find(({ rater }) => rater === place)?.findings ?? null,
          ...(quantity ? { note: `${quantity.title}: ${text}` } : {}),
        };
      }),
    };
  }
}

function Tables({ data: { facts, tables, more_tables: more } }: { data: ValidationOverview }) {
  return (
    <section aria-labelledby="tables-title">
      <h2 id="tables-title">Summary</h2>
      <FactList facts={facts.map(({ name, value }) => ({ name, value: <Isolated>{value}</Isolated> }))} />
      {tables.map((table) => <PrintedTable key={table.title} {...table} />)}
      {more.length > 0 && (
        <details>
          <summary>More tables</summary>
          {more.map((table) => <PrintedTable key={table.title} {...table} />)}
        </details>
      )}
    </section>
  );
}
