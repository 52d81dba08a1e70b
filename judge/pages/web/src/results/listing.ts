// The list of a page: its rows filtered, sorted and paged over columns in memory. A query is the
// part of the address after the #, without the study that is open.

import type { ComponentChildren } from "preact";

import type { Choice, ItemCounts, ListColumn, ListFilter, Noun, StudyList } from "../api.ts";

export const PAGE = 50;
const MISSING = -1;
// White space as `search_words` in judge/study/view.py has it.
const GAPS = /[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+/;

export interface Column {
  name: string;
  label: string;
  // The class of its cells.
  kind: string;
  // Whether the first click on its heading puts the largest value first.
  largestFirst: boolean;
  // What a row is sorted by; null comes last, whichever way.
  rank: (row: number) => number | null;
  text: (row: number) => string;
  // What is drawn in place of the text; in the column of ids, beside it.
  draw?: (row: number) => ComponentChildren;
}

export type RowTest = (row: number) => boolean;

export interface Filter {
  name: string;
  label: string;
  field: "choice" | "search" | "number";
  choices: readonly { value: string; text: string }[];
  // Whether it is among the further filters, which are folded away.
  isFolded: boolean;
  // The test of the rows, of the value that is wanted.
  test: (wanted: string, query: URLSearchParams) => RowTest;
}

export interface ListingParts {
  noun: Noun;
  ids: readonly string[];
  columns: readonly Column[];
  filters: readonly Filter[];
  // All rows in the order in which the list begins, and its name; without it, that of the rows.
  order?: readonly number[];
  ordered?: string;
  // What is to be said of the rows that match.
  about?: (rows: readonly number[]) => string;
  // The rows that hold every word of a text.
  search?: (text: string) => Promise<ReadonlySet<number>>;
  // Somebody is about to search.
  prepareSearch?: () => void;
}

export class Listing {
  readonly rowOf: ReadonlyMap<string, number>;
  readonly #order: readonly number[];

  constructor(readonly parts: ListingParts) {
    this.rowOf = new Map(parts.ids.map((id, row) => [id, row]));
    this.#order = parts.order ?? [...parts.ids.keys()];
  }

  get size(): number {
    return this.parts.ids.length;
  }

  idOf(row: number): string {
    return this.parts.ids[row] ?? "";
  }

  // The column by which a query sorts.
  sortedBy(query: URLSearchParams): Column | undefined {
    return this.parts.columns.find(({ name }) => name === query.get("sort"));
  }

  // The rows that match a query, in its order.
  async rows(query: URLSearchParams): Promise<number[]> {
    const tests = this.#tests(query);
    const text = query.get("q")?.trim();
    if (text && this.parts.search) {
      const hits = await this.parts.search(text);
      tests.push((row) => hits.has(row));
    }
    const rows = this.#order.filter((row) => tests.every((test) => test(row)));
    const column = this.sortedBy(query);
    return column ? sorted(rows, column, isDescending(query)) : rows;
  }

  #tests(query: URLSearchParams): RowTest[] {
    const tests: RowTest[] = [];
    for (const { name, test } of this.parts.filters) {
      const wanted = query.get(name);
      if (wanted !== null) tests.push(test(wanted, query));
    }
    return tests;
  }
}

export function isDescending(query: URLSearchParams): boolean {
  return query.get("descending") === "true";
}

// The rows by a column; those with equal values stay in the order of the run.
function sorted(rows: readonly number[], { rank }: Column, descending: boolean): number[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const left = rank(a);
    const right = rank(b);
    if (left === null || right === null) return Number(left === null) - Number(right === null) || a - b;
    return sign * (left - right) || a - b;
  });
}

// What a click on a heading makes of a query.
export function sortChanges(column: Column, query: URLSearchParams): Record<string, string> {
  const isSorted = query.get("sort") === column.name;
  const descending = isSorted ? !isDescending(query) : column.largestFirst;
  return { sort: column.name, descending: String(descending) };
}

export interface ListPage {
  offset: number;
  end: number;
  previous: number | null;
  next: number | null;
}

// The part of `n` rows that a query shows. An offset that cannot be is that of the nearest page.
export function pageOf(n: number, query: URLSearchParams): ListPage {
  const asked = Math.trunc(Number(query.get("offset")));
  const lastPage = PAGE * Math.floor(Math.max(0, n - 1) / PAGE);
  const offset = Number.isFinite(asked) ? Math.min(Math.max(0, asked), lastPage) : 0;
  const end = Math.min(offset + PAGE, n);
  return {
    offset,
    end,
    previous: offset > 0 ? Math.max(0, offset - PAGE) : null,
    next: end < n ? end : null,
  };
}

// The rows whose text holds every word of what is searched for; the texts are in small letters.
export function found(texts: readonly string[], wanted: string): Set<number> {
  const words = wanted.toLowerCase().split(GAPS).filter((word) => word !== "");
  const rows = new Set<number>();
  texts.forEach((text, row) => {
    if (words.every((word) => text.includes(word))) rows.add(row);
  });
  return rows;
}

// A column of the page's data.
export class DataColumn implements Column {
  readonly name: string;
  readonly label: string;
  readonly kind: string;
  readonly largestFirst: boolean;

  constructor(readonly data: ListColumn) {
    this.name = data.name;
    this.label = data.label;
    this.kind = data.kind;
    this.largestFirst = data.largest_first;
  }

  code(row: number): number {
    return this.data.codes[row] ?? MISSING;
  }

  rank = (row: number): number | null => {
    const code = this.code(row);
    return code === MISSING ? null : code;
  };

  text = (row: number): string => this.data.texts[this.code(row)] ?? this.data.missing;

  number(row: number): number | null {
    return this.data.numbers?.[this.code(row)] ?? null;
  }
}

// A filter by one of a few values.
export function choiceFilter(
  { name, label, choices, isFolded = false, fits }: {
    name: string;
    label: string;
    choices: readonly { value: string; text: string }[];
    isFolded?: boolean;
    fits: (row: number, wanted: string) => boolean;
  },
): Filter {
  return { name, label, field: "choice", choices, isFolded, test: (wanted) => (row) => fits(row, wanted) };
}

// A filter by a part of a text.
export function textFilter(
  { name, label, isFolded = false, text }:
  { name: string; label: string; isFolded?: boolean; text: (row: number) => string },
): Filter {
  const test = (wanted: string): RowTest => {
    const part = wanted.toLowerCase();
    return (row) => text(row).toLowerCase().includes(part);
  };
  return { name, label, field: "search", choices: [], isFolded, test };
}

// A filter of the page's data.
export function dataFilter(
  filter: ListFilter, columns: ReadonlyMap<string, DataColumn>, counts: readonly ItemCounts[] = [],
): Filter {
  const { name, label, is_folded: isFolded, choices } = filter;
  if (filter.kind === "items") {
    return { name, label, field: "choice", choices, isFolded, test: (_, query) => itemTest(query, columns, counts) };
  }
  const column = columns.get(filter.column);
  if (!column) throw new Error(`The list has no column ${filter.column}.`);
  if (filter.kind === "text") return textFilter({ name, label, isFolded, text: column.text });
  if (filter.kind === "choice") {
    return { name, label, field: "choice", choices, isFolded, test: (wanted) => codeTest(column, choices, wanted) };
  }
  const isLeast = filter.kind === "at_least";
  const test = (wanted: string): RowTest => {
    const bound = Number(wanted);
    return (row) => {
      const value = column.number(row);
      return value !== null && (isLeast ? value >= bound : value <= bound);
    };
  };
  return { name, label, field: "number", choices: [], isFolded, test };
}

function codeTest(column: DataColumn, choices: readonly Choice[], wanted: string): RowTest {
  const codes = new Set(choices.find(({ value }) => value === wanted)?.codes);
  return (row) => codes.has(column.code(row));
}

// Whether one item of a study carries all labels that are chosen.
function itemTest(
  query: URLSearchParams, columns: ReadonlyMap<string, DataColumn>, counts: readonly ItemCounts[],
): RowTest {
  const names = new Set(counts.flatMap(({ labels }) => Object.keys(labels)));
  const chosen = [...names].filter((name) => query.has(name));
  const fitting = counts.find(({ labels }) =>
    Object.keys(labels).length === chosen.length && chosen.every((name) => labels[name] === query.get(name)));
  const counting = (fitting?.columns ?? []).map((name) => columns.get(name));
  return (row) => counting.some((column) => (column?.number(row) ?? 0) > 0);
}

// The parts of a listing that a page's data make by themselves.
export function dataParts(list: StudyList): ListingParts & { data: ReadonlyMap<string, DataColumn> } {
  const columns = list.columns.map((column) => new DataColumn(column));
  const data = new Map(columns.map((column) => [column.name, column]));
  const ids = columns[0];
  return {
    data,
    noun: list.noun,
    ids: ids ? ids.data.codes.map((_, row) => ids.text(row)) : [],
    columns: columns.filter((column) => column.data.is_shown),
    filters: list.filters.map((filter) => dataFilter(filter, data, list.item_counts)),
    order: list.order,
    ordered: list.ordered,
  };
}
