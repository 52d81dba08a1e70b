// The list of a page as it is drawn: the form that filters it, a page of its rows, and the way to
// the other pages.

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Button, Control, Isolated, ScrollingTable } from "../shared/parts.tsx";
import type { App } from "./app.tsx";
import { isDescending, pageOf, sortChanges } from "./listing.ts";
import type { Column, Filter, ListPage } from "./listing.ts";

const WAIT_MS = 120;
const SEARCH: Filter = {
  name: "q", label: "Search in ids, reports, errors", field: "search", choices: [], isFolded: false, test: () => () => true,
};

export function FilterForm({ app }: { app: App }) {
  const { noun, filters, search } = app.state.listing.parts;
  const inSight = filters.filter(({ isFolded }) => !isFolded);
  const folded = filters.filter(({ isFolded }) => isFolded);
  // It is opened for whoever comes by an address with such a filter, and left alone from then on.
  const [isOpen] = useState(() => folded.some(({ name }) => app.state.query.has(name)));
  const field = (filter: Filter) => <FilterField key={filter.name} filter={filter} app={app} />;
  return (
    <form class="filters" role="search" aria-label={noun.many} onSubmit={(event) => event.preventDefault()}>
      <div class="controls">
        {search && field(SEARCH)}
        {inSight.map(field)}
      </div>
      {folded.length > 0 && (
        <details open={isOpen}>
          <summary>By score and further fields</summary>
          <div class="controls">{folded.map(field)}</div>
        </details>
      )}
    </form>
  );
}

// The id of a filter's field: its name, with each sign that an id cannot have as its number.
function fieldId(name: string): string {
  return `filter-${name.replace(/[^A-Za-z0-9_-]/g, (sign) => `_${sign.codePointAt(0)}`)}`;
}

function FilterField({ filter, app }: { filter: Filter; app: App }) {
  const wanted = app.state.query.get(filter.name);
  const id = fieldId(filter.name);
  return (
    <Control id={id} label={filter.label}>
      {filter.field === "choice"
        ? <ChoiceField id={id} filter={filter} wanted={wanted} app={app} />
        : <TypedField id={id} filter={filter} wanted={wanted} app={app} />}
    </Control>
  );
}

interface FieldProps {
  id: string;
  filter: Filter;
  wanted: string | null;
  app: App;
}

function ChoiceField({ id, filter: { name, choices }, wanted, app }: FieldProps) {
  // By place, since a value can be an empty text, which stands for all.
  const place = wanted === null ? -1 : choices.findIndex(({ value }) => value === wanted);
  return (
    <select
      id={id}
      value={place < 0 ? "" : String(place)}
      onChange={(event) => void app.change({ [name]: choices[event.currentTarget.selectedIndex - 1]?.value ?? null })}
    >
      <option value="">all</option>
      {choices.map(({ text }, at) => <option key={at} value={String(at)}>{text}</option>)}
    </select>
  );
}

function TypedField({ id, filter: { name, field }, wanted, app }: FieldProps) {
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  // What the address says, but not over the words that are being typed.
  useLayoutEffect(() => {
    if (input.current && input.current !== document.activeElement) input.current.value = wanted ?? "";
  }, [wanted]);
  const typed = (value: string) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => void app.change({ [name]: value || null }), WAIT_MS);
  };
  const common = {
    ref: input,
    id,
    autocomplete: "off",
    onFocus: () => {
      if (name === SEARCH.name) app.state.listing.parts.prepareSearch?.();
    },
    onInput: (event: Event) => typed((event.currentTarget as HTMLInputElement).value),
  };
  if (field === "number") return <input type="number" step="any" {...common} />;
  return <input type="search" {...common} />;
}

export function StudyTable({ app }: { app: App }) {
  const { query, rows, listing } = app.state;
  const page = pageOf(rows.length, query);
  const { noun, columns } = listing.parts;
  return (
    <div id="list">
      <Count app={app} />
      {rows.length === 0 && <p class="empty">No {noun.one} matches.</p>}
      {rows.length > 0 && (
        <ScrollingTable kind="studies" caption={`${noun.many}; a heading sorts by its column`}>
          <thead>
            <tr>{columns.map((column) => <Heading key={column.name} column={column} app={app} />)}</tr>
          </thead>
          <tbody>
            {rows.slice(page.offset, page.end).map((row) => <Row key={row} row={row} app={app} />)}
          </tbody>
        </ScrollingTable>
      )}
      <Pager page={page} app={app} />
    </div>
  );
}

// How many match, in which order.
function Count({ app }: { app: App }) {
  const { query, rows, listing } = app.state;
  const { noun, ordered, about } = listing.parts;
  const all = `${listing.size} ${listing.size === 1 ? noun.one : noun.many}`;
  const column = listing.sortedBy(query);
  const isFiltered = rows.length < listing.size;
  return (
    <div class="count">
      {isFiltered ? `${rows.length} of ${all}` : all}
      {column ? <>, by <Isolated>{column.label}</Isolated></> : ordered && `, ${ordered}`}
      {about ? `. ${about(rows)} ` : " "}
      {(isFiltered || column) && <Button class="quiet" onClick={() => void app.reset()}>Reset</Button>}
    </div>
  );
}

function Heading({ column, app }: { column: Column; app: App }) {
  const { query } = app.state;
  const isSorted = query.get("sort") === column.name;
  const direction = isDescending(query) ? "descending" : "ascending";
  const arrow = isDescending(query) ? " ▾" : " ▴";
  return (
    <th scope="col" class={column.kind} aria-sort={isSorted ? direction : undefined}>
      <Button class="sort" data-act={`sort ${column.name}`} onClick={() => void app.change(sortChanges(column, query))}>
        <Isolated>{column.label}</Isolated>
        <span aria-hidden="true">{isSorted ? arrow : ""}</span>
      </Button>
    </th>
  );
}

function Row({ row, app }: { row: number; app: App }) {
  const { listing, lastOpened } = app.state;
  return (
    <tr class={row === lastOpened ? "current" : undefined}>
      {listing.parts.columns.map((column) => <Cell key={column.name} column={column} row={row} app={app} />)}
    </tr>
  );
}

function Cell({ column, row, app }: { column: Column; row: number; app: App }) {
  const text = column.text(row);
  const drawn = column.draw?.(row);
  if (column.kind === "id") {
    return (
      <th scope="row">
        <a href={app.addressOf(text)} data-act={`row ${row}`}><Isolated>{text}</Isolated></a>
        {drawn}
      </th>
    );
  }
  // The cell's width may show a part of its text.
  return <td class={column.kind} title={text}>{drawn ?? (text && <Isolated>{text}</Isolated>)}</td>;
}

function Pager({ page: { offset, end, previous, next }, app }: { page: ListPage; app: App }) {
  const n = app.state.rows.length;
  const describedBy = useId();
  if (previous === null && next === null) return null;
  const turn = async (to: number) => {
    await app.change({ offset: to ? String(to) : null });
    document.getElementById("studies-title")?.scrollIntoView();
  };
  const step = (text: string, to: number | null) => (
    <Button
      data-act={text}
      aria-describedby={describedBy}
      disabled={to === null}
      onClick={() => { if (to !== null) void turn(to); }}
    >
      {text}
    </Button>
  );
  return (
    <nav class="pager" aria-label="Pages of the list">
      {step("Previous", previous)}
      <span id={describedBy} class="small">{offset + 1} to {end} of {n}</span>
      {step("Next", next)}
    </nav>
  );
}
