import assert from "node:assert/strict";
import { test } from "node:test";

import type { StudyList } from "../src/api.ts";
import { Listing, PAGE, dataParts, found, pageOf, sortChanges } from "../src/results/listing.ts";

// Four studies: the class of the third is missing, the score of the second.
const list: StudyList = {
  noun: { one: "study", many: "studies" },
  order: [2, 0, 1, 3],
  ordered: "worst first",
  columns: [
    column("study_id", ["a1", "a2", "a10", "b"], [2, 0, 1, 3]),
    column("study_class", ["abnormal", "normal"], [1, 0, -1, 1]),
    { ...column("measure.green", ["0.250", "0.500"], [1, -1, 0, 0]), numbers: [0.25, 0.5], missing: "n/a" },
    { ...column("measure.significant_a", ["0", "2"], [0, 1, 1, 0]), numbers: [0, 2], largest_first: true },
    { ...column("measure.insignificant_a", ["0", "1"], [1, 0, 0, 0]), numbers: [0, 1], is_shown: false },
    column("field.site", ["harbour"], [0, 0, 0, 0]),
  ],
  filters: [
    {
      name: "class", label: "Class", kind: "choice", column: "study_class", is_folded: false,
      choices: [
        { value: "abnormal", text: "abnormal", codes: [0] },
        { value: "normal", text: "normal", codes: [1] },
        { value: "", text: "(none)", codes: [-1] },
      ],
    },
    facet("facet.category", "a"),
    facet("facet.sort", "significant"),
    range("min.green", "at_least"),
    range("max.green", "at_most"),
    { name: "has.site", label: "site contains", kind: "text", column: "field.site", choices: [], is_folded: true },
  ],
  item_counts: [
    { labels: { "facet.category": "a" }, columns: ["measure.significant_a", "measure.insignificant_a"] },
    { labels: { "facet.sort": "significant" }, columns: ["measure.significant_a"] },
    { labels: { "facet.category": "a", "facet.sort": "significant" }, columns: ["measure.significant_a"] },
  ],
  packet: 50,
};

function column(name: string, texts: string[], codes: number[]): StudyList["columns"][number] {
  return {
    name, label: name, kind: "field", tone: null, is_shown: true, largest_first: false, missing: "",
    texts, numbers: null, codes, parts: null,
  };
}

function facet(name: string, value: string): StudyList["filters"][number] {
  const choices = [{ value, text: value, codes: [] }];
  return { name, label: name, kind: "items", column: "", choices, is_folded: false };
}

function range(name: string, kind: "at_least" | "at_most"): StudyList["filters"][number] {
  return { name, label: name, kind, column: "measure.green", choices: [], is_folded: true };
}

const listing = new Listing(dataParts(list));

async function ids(query: string): Promise<string[]> {
  return (await listing.rows(new URLSearchParams(query))).map((row) => listing.idOf(row));
}

test("without a query the list is in the order that Python gave", async () => {
  assert.deepEqual(await ids(""), ["a2", "a10", "a1", "b"]);
});

test("a column sorts by the order of its values, what is missing comes last either way", async () => {
  assert.deepEqual(await ids("sort=study_id"), ["a1", "a2", "a10", "b"]);
  assert.deepEqual(await ids("sort=study_id&descending=true"), ["b", "a10", "a2", "a1"]);
  assert.deepEqual(await ids("sort=measure.green"), ["a2", "b", "a10", "a1"]);
  assert.deepEqual(await ids("sort=measure.green&descending=true"), ["a10", "a2", "b", "a1"]);
  assert.deepEqual(await ids("sort=measure.insignificant_a"), await ids(""), "a column that is not shown");
});

test("filters are by value, by the missing one, by number and by a part of a text", async () => {
  assert.deepEqual(await ids("class=normal"), ["a10", "b"]);
  assert.deepEqual(await ids("class="), ["a2"]);
  assert.deepEqual(await ids("min.green=0.3"), ["a10"]);
  assert.deepEqual(await ids("max.green=0.3"), ["a2", "b"]);
  assert.deepEqual(await ids("has.site=HARB"), ["a2", "a10", "a1", "b"]);
  assert.deepEqual(await ids("has.site=river"), []);
});

test("labels that are chosen together are of one item", async () => {
  assert.deepEqual(await ids("facet.category=a"), ["a2", "a10", "a1"]);
  assert.deepEqual(await ids("facet.category=a&facet.sort=significant"), ["a2", "a1"]);
});

test("a facet that is called as a part of the address changes nothing else", async () => {
  assert.deepEqual(await ids("facet.sort=significant&sort=study_id"), ["a1", "a2"]);
});

test("an address that asks for what is not there is harmless", async () => {
  assert.deepEqual(await ids("class=odd"), []);
  assert.deepEqual(await ids("min.green=abc"), []);
  assert.deepEqual(await ids("facet.category=odd"), []);
  assert.deepEqual(await ids("sort=nothing&descending=maybe&__proto__=1&constructor=x"), await ids(""));
});

test("an offset that cannot be is that of the nearest page", () => {
  const offset = (n: number, text: string) => pageOf(n, new URLSearchParams({ offset: text })).offset;
  assert.equal(offset(200, "-5"), 0);
  assert.equal(offset(200, "x"), 0);
  assert.equal(offset(200, "Infinity"), 0);
  assert.equal(offset(200, "1e99"), 150);
  assert.equal(offset(200, "50.7"), 50);
  assert.equal(offset(0, "50"), 0);
});

test("pages follow each other without a gap", () => {
  const first = pageOf(120, new URLSearchParams());
  assert.deepEqual(first, { offset: 0, end: PAGE, previous: null, next: PAGE });
  const last = pageOf(120, new URLSearchParams({ offset: "100" }));
  assert.deepEqual(last, { offset: 100, end: 120, previous: 50, next: null });
});

test("a heading turns the order round, and begins with the largest number of errors", () => {
  const [id] = listing.parts.columns;
  const errors = listing.parts.columns.find(({ name }) => name === "measure.significant_a");
  assert.ok(id && errors);
  assert.deepEqual(sortChanges(id, new URLSearchParams()), { sort: "study_id", descending: "false" });
  assert.equal(sortChanges(errors, new URLSearchParams()).descending, "true");
  const again = new URLSearchParams({ sort: "study_id", descending: "false" });
  assert.equal(sortChanges(id, again).descending, "true");
});

test("a search wants every word, in either case, wherever it stands", () => {
  const texts = ["small left effusion", "effusion", "größe 3\ncm"];
  assert.deepEqual([...found(texts, " EFFUSION\u00a0 Left ")], [0]);
  assert.deepEqual([...found(texts, "effusion")], [0, 1]);
  assert.deepEqual([...found(texts, "GRÖSSE")], []);
  assert.deepEqual([...found(texts, "GRÖßE cm")], [2]);
});

test("the text of a search is asked for once, with its other filters", async () => {
  const asked: string[] = [];
  const searching = new Listing({
    ...dataParts(list),
    search: async (text) => {
      asked.push(text);
      return new Set([0, 2]);
    },
  });
  assert.deepEqual(await searching.rows(new URLSearchParams("q= x &class=normal")), [0]);
  assert.deepEqual(await searching.rows(new URLSearchParams("q=  ")), [2, 0, 1, 3]);
  assert.deepEqual(asked, ["x"]);
});
