import { deepEqual } from "node:assert/strict";
import { test } from "node:test";

import type { ComparedError, DifferenceKind, DifferingStudy } from "../src/api.ts";
import { ALL, DIFFERING, shownStudies } from "../src/results/differing.ts";

const KINDS: DifferenceKind[] = [
  { name: "significant_alone", label: "significant, seen by one", text: "", is_difference: true },
  { name: "agreed", label: "seen alike", text: "", is_difference: false },
];

function error(kind: number, ...categories: number[]): ComparedError {
  return { kind, categories, category: "", a: null, b: null };
}

const STUDIES: DifferingStudy[] = [
  { study_id: "one", address: "#study=one", errors: [error(0, 0, 1), error(1, 1)] },
  { study_id: "two", address: "#study=two", errors: [error(0, 2), error(1, 0)] },
];

function shown(kind: number, category: number): [string, number][] {
  return shownStudies(STUDIES, KINDS, { kind, category }).map(({ study_id: id, errors }) => [id, errors.length]);
}

test("what is seen alike is no difference", () => {
  deepEqual(shown(DIFFERING, ALL), [["one", 1], ["two", 1]]);
  deepEqual(shown(ALL, ALL), [["one", 2], ["two", 2]]);
});

test("a kind and a category together choose errors, and studies without any are left out", () => {
  deepEqual(shown(0, 2), [["two", 1]]);
  deepEqual(shown(1, 1), [["one", 1]]);
  deepEqual(shown(ALL, 1), [["one", 2]]);
  deepEqual(shown(1, 2), []);
});
