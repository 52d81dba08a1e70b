// A page of results: its overview, the list of its studies, and one study. All of it follows the
// address: after the # are the query of the list and the study that is open.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { KeysButton, useKeys } from "../shared/keys.tsx";
import type { KeyAction } from "../shared/keys.tsx";
import { alarm, announce, goTo } from "../shared/page.tsx";
import { Control, Isolated } from "../shared/parts.tsx";
import { Latest } from "../shared/service.ts";
import { Store, useStore } from "../shared/store.ts";
import { FilterForm, StudyTable } from "./list.tsx";
import type { Listing } from "./listing.ts";
import { StudySection, moveError } from "./study.tsx";
import type { OpenStudy } from "./study.tsx";

const SCREEN = "view";

// Something that the list depends on, such as the metric of a comparison.
export interface Param {
  name: string;
  label: string;
  choices: readonly { value: string; text: string }[];
  value: string;
}

// What stands in the place of the overview and the list where the address has its name as `view`.
export interface Screen {
  name: string;
  label: string;
  draw: (app: App) => ComponentChildren;
}

// What a page of results shows.
export interface View {
  title: string;
  notes: readonly string[];
  signature: string;
  // In the head of the page, beside its title.
  top?: ComponentChildren;
  // Before and after the list. They are drawn again when a parameter changes.
  overview: (app: App) => ComponentChildren;
  below?: (app: App) => ComponentChildren;
  footer?: string;
  listTitle?: string;
  params?: (query: URLSearchParams) => readonly Param[];
  // The list that the parameters make.
  listing: (params: ReadonlyMap<string, string>) => Listing | Promise<Listing>;
  // A study by its row in the list.
  study: (row: number, listing: Listing) => Promise<OpenStudy>;
  // Other ways to look at the page.
  screens?: readonly Screen[];
  // Keys beside those that all pages have.
  keys?: (app: App) => readonly KeyAction[];
  // The list is seen again.
  returned?: () => Promise<void>;
}

export interface Opened extends OpenStudy {
  row: number;
}

export interface AppState {
  query: URLSearchParams;
  params: readonly Param[];
  listing: Listing;
  rows: readonly number[];
  study: Opened | null;
  // The row of the list that was opened last.
  lastOpened: number | null;
  showsDifferences: boolean;
}

export class App extends Store<AppState> {
  readonly #listings = new Latest();
  readonly #studies = new Latest();
  #listed: { key: string; listing: Listing } | null = null;
  // The query of the newest change and the row of the newest step: they may not be drawn yet.
  #wanted: URLSearchParams;
  #opening: number | null = null;
  #nRoutes = 0;

  private constructor(readonly view: View, state: AppState) {
    super(state);
    this.#wanted = state.query;
  }

  // The page as the address has it.
  static async start(view: View): Promise<App> {
    document.title = view.title;
    const query = new URLSearchParams();
    const params = view.params?.(query) ?? [];
    const listing = await view.listing(valuesOf(params));
    const app = new App(view, {
      query, params, listing, rows: [], study: null, lastOpened: null, showsDifferences: false,
    });
    app.#listed = { key: keyOf(params), listing };
    await app.#route();
    window.addEventListener("popstate", () => void app.#route());
    return app;
  }

  // The value of a parameter.
  param(name: string): string {
    return valuesOf(this.state.params).get(name) ?? "";
  }

  // The screen that is shown, null for the overview and the list.
  get screen(): Screen | null {
    const name = this.state.query.get(SCREEN);
    return this.view.screens?.find((screen) => screen.name === name) ?? null;
  }

  // The address of a screen; null takes back to the overview and the list.
  screenAddress(name: string | null): string {
    const all = new URLSearchParams(this.state.query);
    all.delete(SCREEN);
    if (name !== null) all.set(SCREEN, name);
    return `#${all}`;
  }

  addressOf(id: string | null): string {
    const all = new URLSearchParams(this.state.query);
    if (id !== null) all.set("study", id);
    return `#${all}`;
  }

  // Changes the query; null takes a part away.
  async change(changes: Readonly<Record<string, string | null>>): Promise<void> {
    const query = new URLSearchParams(this.#wanted);
    for (const [name, value] of Object.entries({ offset: null, ...changes })) {
      if (value === null) query.delete(name);
      else query.set(name, value);
    }
    await this.#list(query);
    // A study may have been opened meanwhile, whose address stays.
    if (this.#wanted === query) this.#replaceAddress(null);
  }

  // The list without filters, in its first order.
  async reset(): Promise<void> {
    const names = new Set(this.state.params.map(({ name }) => name));
    await this.#list(new URLSearchParams([...this.state.query].filter(([name]) => names.has(name))));
    this.#replaceAddress(null);
    goTo(document.getElementById("studies-title"));
  }

  back(): void {
    location.hash = this.addressOf(null);
  }

  // The row that is so many further in the list, null where it ends.
  rowAt(by: number, from = this.state.study?.row ?? null): number | null {
    const { rows } = this.state;
    const place = from === null ? -1 : rows.indexOf(from);
    return place < 0 ? null : rows[place + by] ?? null;
  }

  async step(by: number): Promise<void> {
    const row = this.rowAt(by, this.#opening);
    if (row === null) return;
    this.#replaceAddress(this.state.listing.idOf(row));
    await this.#show(row);
  }

  toggleDifferences(): void {
    const showsDifferences = !this.state.showsDifferences;
    this.update({ showsDifferences });
    announce(showsDifferences ? "Differences from the reference are shown" : "Differences are hidden");
  }

  #replaceAddress(id: string | null): void {
    history.replaceState(null, "", this.addressOf(id));
  }

  // Lists what a query asks for.
  async #list(query: URLSearchParams): Promise<void> {
    this.#wanted = query;
    const made = await this.#listings.only(this.#made(query));
    if (made === null) return;
    const { listing, rows } = made;
    this.update(made);
    const { one, many } = listing.parts.noun;
    announce(`${rows.length} ${rows.length === 1 ? one : many} of ${listing.size} match`);
  }

  async #made(query: URLSearchParams) {
    const params = this.view.params?.(query) ?? [];
    const key = keyOf(params);
    let listed = this.#listed;
    if (listed?.key !== key) {
      listed = { key, listing: await this.view.listing(valuesOf(params)) };
      this.#listed = listed;
    }
    const { listing } = listed;
    return { query, params, listing, rows: await listing.rows(query) };
  }

  async #route(): Promise<void> {
    const query = new URLSearchParams(location.hash.slice(1));
    const id = query.get("study");
    query.delete("study");
    this.#nRoutes += 1;
    const number = this.#nRoutes;
    if (id === null) {
      // A study that is on its way is wanted no longer.
      this.#opening = null;
      this.#studies.drop();
    }
    await this.#list(query);
    if (number !== this.#nRoutes) return;
    const { listing } = this.state;
    const row = id === null ? undefined : listing.rowOf.get(id);
    if (row !== undefined) {
      await this.#show(row);
      return;
    }
    if (id !== null) {
      alarm(new Error(`There is no ${listing.parts.noun.one} ${JSON.stringify(id)} here.`));
      this.#replaceAddress(null);
    }
    if (this.state.study === null) return;
    this.#opening = null;
    await this.view.returned?.();
    if (number === this.#nRoutes) this.update({ study: null });
  }

  async #show(row: number): Promise<void> {
    this.#opening = row;
    // Rows are those of this list; another one may be shown when the study is there.
    const { listing } = this.state;
    try {
      const study = await this.#studies.only(this.view.study(row, listing));
      if (study && this.state.listing === listing) this.update({ study: { ...study, row }, lastOpened: row });
    } catch (error) {
      // The study before is still in view.
      const { study } = this.state;
      this.#opening = study?.row ?? null;
      this.#replaceAddress(study?.id ?? null);
      throw error;
    }
  }
}

function valuesOf(params: readonly Param[]): ReadonlyMap<string, string> {
  return new Map(params.map(({ name, value }) => [name, value]));
}

function keyOf(params: readonly Param[]): string {
  return JSON.stringify(params.map(({ value }) => value));
}

// Returns what happens only while a study is open.
export function inStudy(app: App, act: () => unknown): () => unknown {
  return () => (app.state.study ? act() : false);
}

function keysOf(app: App): KeyAction[] {
  return [
    { key: "n", text: "next", act: inStudy(app, () => void app.step(1)) },
    { key: "p", text: "previous", act: inStudy(app, () => void app.step(-1)) },
    { key: "j", text: "next error", act: inStudy(app, () => moveError(1)) },
    { key: "k", text: "previous error", act: inStudy(app, () => moveError(-1)) },
    {
      key: "d",
      text: "show the differences of reference and candidate",
      act: inStudy(app, () => app.toggleDifferences()),
    },
    ...(app.view.keys?.(app) ?? []),
    { key: "Escape", text: "leave a field, back to the list", act: inStudy(app, () => app.back()) },
  ];
}

export function ResultsPage({ app }: { app: App }) {
  const { study } = useStore(app);
  const { view } = app;
  useKeys(keysOf(app));
  return (
    <>
      <header class="top">
        <h1><Isolated>{view.title}</Isolated></h1>
        {view.top}
        <KeysButton />
        {view.notes.map((note) => <p key={note} class="note" role="note"><Isolated>{note}</Isolated></p>)}
      </header>
      <main id="main">
        <Home app={app} />
        {study && <StudyScreen key={study.row} app={app} study={study} />}
      </main>
      <footer>
        {view.footer && <p class="small">{view.footer}</p>}
        <p class="mono small">Signature: <Isolated>{view.signature}</Isolated></p>
      </footer>
    </>
  );
}

// The overview and the list. It stays on the page while a study is open, with what is typed in it.
function Home({ app }: { app: App }) {
  const { study, lastOpened } = useStore(app);
  const { view } = app;
  const box = useRef<HTMLDivElement>(null);
  const isOpen = study !== null;
  const { screen } = app;
  useLayoutEffect(() => {
    if (isOpen || lastOpened === null) return;
    const links = [...box.current?.querySelectorAll<HTMLElement>("[data-study]") ?? []];
    const row = box.current?.querySelector<HTMLElement>(`[data-act="row ${lastOpened}"]`);
    const link = links.find((element) => element.dataset.study === app.state.listing.idOf(lastOpened));
    goTo(row ?? link ?? box.current?.querySelector<HTMLElement>("#studies-title, h2"), "center");
  }, [isOpen]);
  if (screen) return <div ref={box} key={screen.name} hidden={isOpen}>{screen.draw(app)}</div>;
  return (
    <div ref={box} hidden={isOpen}>
      <Screens app={app} />
      <Params app={app} />
      {view.overview(app)}
      <section id="studies" aria-labelledby="studies-title">
        <h2 id="studies-title" tabIndex={-1}>{view.listTitle ?? "Studies"}</h2>
        <FilterForm app={app} />
        <StudyTable app={app} />
      </section>
      {view.below?.(app)}
    </div>
  );
}

// The ways to the other screens.
function Screens({ app }: { app: App }) {
  const screens = app.view.screens ?? [];
  if (!screens.length) return null;
  return (
    <nav class="steps" aria-label="Screens">
      {screens.map(({ name, label }) => (
        <a key={name} class="button" href={app.screenAddress(name)}>{label}</a>
      ))}
    </nav>
  );
}

function Params({ app }: { app: App }) {
  const params = app.state.params.filter(({ choices }) => choices.length > 1);
  if (!params.length) return null;
  return (
    <div class="controls params">
      {params.map(({ name, label, choices, value }) => (
        <Control key={name} id={`param-${name}`} label={label}>
          <select
            id={`param-${name}`}
            data-act={name}
            value={value}
            onChange={(event) => void app.change({ [name]: event.currentTarget.value })}
          >
            {choices.map((choice) => <option key={choice.value} value={choice.value}>{choice.text}</option>)}
          </select>
        </Control>
      ))}
    </div>
  );
}

function StudyScreen({ app, study }: { app: App; study: Opened }) {
  useLayoutEffect(() => {
    window.scrollTo(0, 0);
    document.getElementById("study-title")?.focus({ preventScroll: true });
  }, []);
  return <StudySection app={app} study={study} />;
}
