// The page of a run: its headline and figures, the list, the studies, and what readers say of them.

import type {
  AskedQuestion, Bars, FoundStudies, RunOverview, RunReviewsShown, RunStudy, ShownReviews, StudyAnswer, StudyList,
} from "../api.ts";
import type { KeyAction } from "../shared/keys.tsx";
import { Clipped, FactList, Isolated, PrintedTable } from "../shared/parts.tsx";
import { Reader, ReaderName } from "../shared/reader.tsx";
import { ask } from "../shared/service.ts";
import { Store, useStore } from "../shared/store.ts";
import { App, ResultsPage, inStudy } from "./app.tsx";
import type { View } from "./app.tsx";
import { Listing, choiceFilter, dataParts, found } from "./listing.ts";
import type { DataColumn } from "./listing.ts";
import { embedded, isFile } from "./load.ts";
import { Drafts, ItemVerdicts, Review, StudyReviewPart } from "./review.tsx";
import { focusedError, moveError } from "./study.tsx";
import type { OpenStudy } from "./study.tsx";

const DOWNLOADS = ["csv", "parquet", "jsonl"];

interface ShownStudy {
  study: RunStudy;
  asked: () => Promise<AskedQuestion>;
}

// Where the data of a run come from.
interface RunData {
  overview: () => Promise<RunOverview>;
  studies: () => Promise<StudyList>;
  study: (row: number) => Promise<ShownStudy>;
  search: (text: string) => Promise<ReadonlySet<number>>;
  prepareSearch?: () => void;
}

class FileData implements RunData {
  #packet = 1;
  #texts: Promise<string[]> | null = null;

  overview = () => embedded<RunOverview>("overview");

  async studies(): Promise<StudyList> {
    const list = await embedded<StudyList>("studies");
    this.#packet = list.packet;
    return list;
  }

  async study(row: number): Promise<ShownStudy> {
    const number = Math.floor(row / this.#packet);
    const place = row % this.#packet;
    const study = (await embedded<RunStudy[]>(`packet-${number}`))[place];
    if (!study) throw new Error("This page does not have the study.");
    const asked = async () => {
      const question = (await embedded<AskedQuestion[]>(`asked-${number}`))[place];
      return question ?? { messages: [], missing: "This page does not have it." };
    };
    return { study, asked };
  }

  // The texts of all studies are unpacked while the words are being typed.
  prepareSearch = () => {
    this.#texts ??= this.#allTexts();
  };

  async search(text: string): Promise<ReadonlySet<number>> {
    this.#texts ??= this.#allTexts();
    return found(await this.#texts, text);
  }

  async #allTexts(): Promise<string[]> {
    const names = [...document.querySelectorAll('script[id^="data-search-"]')].map(({ id }) => id.slice("data-".length));
    return (await Promise.all(names.map((name) => embedded<string[]>(name)))).flat();
  }
}

class ServiceData implements RunData {
  readonly base: string;

  constructor(run: string) {
    this.base = `/v1/runs/${encodeURIComponent(run)}`;
  }

  overview = () => ask<RunOverview>(`${this.base}/overview`);
  studies = () => ask<StudyList>(`${this.base}/studies`);
  reviews = () => ask<RunReviewsShown>(`${this.base}/reviews`);

  async study(row: number): Promise<ShownStudy> {
    const { study, asked } = await ask<StudyAnswer>(`${this.base}/study`, { query: { row: String(row) } });
    return { study, asked: () => Promise.resolve(asked) };
  }

  async search(text: string): Promise<ReadonlySet<number>> {
    return new Set((await ask<FoundStudies>(`${this.base}/search`, { query: { q: text } })).rows);
  }
}

export async function runPage(run: string) {
  if (isFile()) {
    const data = new FileData();
    const [overview, list] = await Promise.all([data.overview(), data.studies()]);
    return <ResultsPage app={await App.start(new RunView(overview, list, data))} />;
  }
  const data = new ServiceData(run);
  const [overview, list, reviews] = await Promise.all([data.overview(), data.studies(), data.reviews()]);
  return <ResultsPage app={await App.start(new ServedRunView(overview, list, data, run, reviews))} />;
}

class RunView implements View {
  readonly title: string;
  readonly notes: readonly string[];
  readonly signature: string;

  constructor(readonly data: RunOverview, readonly list: StudyList, readonly source: RunData) {
    this.title = data.title;
    this.notes = data.notes;
    this.signature = data.signature;
  }

  overview = () => <Overview data={this.data} />;

  listing(): Listing {
    const { data, ...parts } = dataParts(this.list);
    const columns = parts.columns.map((column) => this.drawn(data.get(column.name)!));
    const { prepareSearch } = this.source;
    const search = (text: string) => this.source.search(text);
    return new Listing({ ...parts, columns, search, ...(prepareSearch ? { prepareSearch } : {}) });
  }

  // A column as it is drawn.
  drawn(column: DataColumn) {
    const { parts, tone } = column.data;
    const draw = (row: number) => {
      if (parts) {
        return (parts[column.code(row)] ?? []).map(({ text, title }) => <abbr key={text} title={title}>{text}</abbr>);
      }
      const text = column.text(row);
      if (column.kind === "count" && (column.number(row) ?? 0) > 0) {
        return <span class={tone ? `pill tone-${tone}` : "pill"}>{text}</span>;
      }
      if (column.kind === "outcome" && text !== "scored") return <strong><Isolated>{text}</Isolated></strong>;
      return null;
    };
    return Object.assign(column, { draw });
  }

  async study(row: number): Promise<OpenStudy> {
    const { study, asked } = await this.source.study(row);
    const { study_id: id, facts, findings, answer } = study;
    return {
      id,
      facts: facts.map(({ name, value }) => ({ name, value: <Clipped text={value} /> })),
      columns: [{ key: "", letter: "", findings, answer, ...(this.data.has_prompt ? { asked } : {}) }],
    };
  }
}

// A run of the service, which takes reviews.
class ServedRunView extends RunView {
  readonly reader = new Reader({ title: "Who is reviewing?", record: "verdict" });
  readonly drafts = new Drafts();
  readonly reviews: Store<RunReviewsShown>;
  readonly top;
  #known: { of: readonly string[]; ids: ReadonlySet<string> } | null = null;

  constructor(
    data: RunOverview, list: StudyList, readonly service: ServiceData, readonly run: string, reviews: RunReviewsShown,
  ) {
    super(data, list, service);
    this.reviews = new Store(reviews);
    this.top = <Top run={run} isReadable={data.is_readable} reader={this.reader} />;
  }

  override overview = () => <Overview data={this.data} reviews={this.reviews} base={this.service.base} />;

  override listing(): Listing {
    const listing = super.listing();
    const { parts } = listing;
    const isReviewed = (row: number) => this.#reviewed().has(listing.idOf(row));
    const choices = ["yes", "no"].map((value) => ({ value, text: value }));
    const reviewed = choiceFilter({
      name: "reviewed", label: "Reviewed", choices, fits: (row, wanted) => isReviewed(row) === (wanted === "yes"),
    });
    const columns = parts.columns.map((column) => (
      column.kind === "id" ? Object.assign(column, { draw: (row: number) => isReviewed(row) && <ReviewedMark /> }) : column
    ));
    return new Listing({ ...parts, columns, filters: [...parts.filters, reviewed] });
  }

  override async study(row: number): Promise<OpenStudy> {
    const study = await super.study(row);
    const review = new Review({
      base: this.service.base, studyId: study.id, reader: this.reader, drafts: this.drafts,
    });
    await review.load();
    const columns = study.columns.map((column) => (
      { ...column, belowItem: (at: number) => <ItemVerdicts review={review} at={at} /> }
    ));
    return {
      ...study,
      columns,
      below: <StudyReviewPart key={study.id} review={review} />,
      judge: (at, verdict) => void review.judge(at, verdict),
    };
  }

  // The studies with a review.
  #reviewed(): ReadonlySet<string> {
    const { reviewed } = this.reviews.state;
    if (this.#known?.of !== reviewed) this.#known = { of: reviewed, ids: new Set(reviewed) };
    return this.#known.ids;
  }

  async returned(): Promise<void> {
    this.reviews.set(await this.service.reviews());
  }

  keys(app: App): KeyAction[] {
    const judge = (verdict: string) => inStudy(app, () => {
      // Where no error is chosen yet the first is meant.
      if (focusedError() < 0) moveError(1);
      const at = focusedError();
      if (at < 0) return false;
      app.state.study?.judge?.(at, verdict);
      return true;
    });
    return [
      { key: "r", text: "the error is right; again to withdraw", act: judge("right") },
      { key: "w", text: "the error is wrong; again to withdraw", act: judge("wrong") },
      { key: "s", text: "right, but the wrong significance or severity; again to withdraw", act: judge("wrong_severity") },
    ];
  }
}

function ReviewedMark() {
  return <span class="reviewed"> ✓<span class="unseen">reviewed</span></span>;
}

function Top({ run, isReadable, reader }: { run: string; isReadable: boolean; reader: Reader }) {
  return (
    <>
      <a href="/">All runs</a>
      {isReadable && <a href={`/read?${new URLSearchParams({ run })}`}>Read blind</a>}
      <ReaderName reader={reader} verb="Reviewing as" />
    </>
  );
}

// What is known of a run before its studies.
export function Overview(
  { data, reviews, base }: { data: RunOverview; reviews?: Store<RunReviewsShown>; base?: string },
) {
  const { tiles, figures, facts, tables } = data;
  return (
    <section aria-label="The run">
      <div class="tiles">
        {tiles.map(({ label, text, more }) => (
          <div key={label} class="tile">
            <p>{label}</p>
            <p class="tile-value">{text}</p>
            <p class="small">{more}</p>
          </div>
        ))}
      </div>
      <div class="figures">{figures.map((figure) => <BarsFigure key={figure.title} figure={figure} />)}</div>
      {reviews && <Reviews reviews={reviews} />}
      <details>
        <summary>Details: facts, tables{base && ", downloads"}</summary>
        <FactList facts={facts.map(({ name, value }) => ({ name, value: <Isolated>{value}</Isolated> }))} />
        {tables.map((table, at) => <PrintedTable key={at} {...table} />)}
        {base && <Downloads base={base} />}
      </details>
    </section>
  );
}

function Downloads({ base }: { base: string }) {
  return (
    <p>
      This run as
      {DOWNLOADS.map((form) => (
        <span key={form}> <a href={`${base}/results?format=${form}`} download="">{form.toUpperCase()}</a></span>
      ))}
    </p>
  );
}

// A figure of boxes; every number in it is also written out.
export function BarsFigure({ figure: { title, note, legend, rows } }: { figure: Bars }) {
  return (
    <figure class="figure">
      <figcaption>{title}</figcaption>
      {note && <p class="small">{note}</p>}
      {legend.length > 0 && (
        <ul class="legend">
          {legend.map(({ text, tone }) => (
            <li key={text}><span class={`swatch tone-${tone}`} aria-hidden="true" />{text}</li>
          ))}
        </ul>
      )}
      <ul class="bars">
        {rows.map(({ name, text, parts, low, high }, at) => (
          <li key={at}>
            <span><Isolated>{name}</Isolated></span>
            <span class="track" aria-hidden="true">
              {parts.map(({ share, tone }, place) => (
                <Box key={place} kind={`part tone-${tone}`} from={null} width={share} />
              ))}
              {low !== null && high !== null && <Box kind="whisker" from={low} width={high - low} />}
            </span>
            <span class="small">{text}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

// A box of a figure. The policy of the page allows no style in the text of a page; a script may set it.
export function Box({ kind, from, width }: { kind: string; from: number | null; width: number }) {
  const style: Record<string, string> = { width: `${100 * width}%` };
  if (from !== null) style.left = `${100 * from}%`;
  return <span class={kind} style={style} />;
}

// What readers said of the judge's errors: precision, and the agreement of the readers.
function Reviews({ reviews }: { reviews: Store<RunReviewsShown> }) {
  const { events, shown } = useStore(reviews);
  return (
    <div id="readers">
      {events.length ? <ReviewTables shown={shown} /> : <p class="small">{shown.sentence}</p>}
    </div>
  );
}

function ReviewTables({ shown: { sentence, tables, notes } }: { shown: ShownReviews }) {
  return (
    <div>
      <h3>Reviews</h3>
      <p><Isolated>{sentence}</Isolated></p>
      {tables.map((table) => <PrintedTable key={table.title} {...table} />)}
      {notes.map((note) => <p key={note} class="small"><Isolated>{note}</Isolated></p>)}
    </div>
  );
}
