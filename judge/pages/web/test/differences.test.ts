import assert from "node:assert/strict";
import { test } from "node:test";

import type { ComparisonWords } from "../src/api.ts";
import { aheadBy, largestFirst, stateOf, statesOf, textOf } from "../src/results/differences.ts";

const steps = { starts: [-1.5, -0.5, 0.5], texts: ["−1", "0", "1"] };
const words = {
  ahead: "A ahead", behind: "A behind", equal: "equal", scored: "scored", not_scored: "not scored",
} as ComparisonWords;

test("a difference has the text whose range it is in", () => {
  const texts = [-9, -1.5, -0.51, -0.5, 0, 0.49, 0.5, 9].map((value) => textOf(steps, value));
  assert.deepEqual(texts, ["−1", "−1", "−1", "0", "0", "0", "1", "1"]);
  assert.equal(textOf({ starts: [], texts: [] }, 1), "");
});

test("a model is ahead by what is better about its value", () => {
  assert.equal(aheadBy(3, 1, 1), 2);
  assert.equal(aheadBy(3, 1, -1), -2);
  assert.equal(aheadBy(3, undefined, -1), -3);
  assert.equal(aheadBy(null, 1, 1), null);
  assert.equal(aheadBy(3, null, 1), null);
});

test("each difference is in one state", () => {
  const states = [2, 0, -1, null].map((ahead) => stateOf(ahead, words, true));
  assert.deepEqual(states, statesOf(words, true));
  assert.deepEqual([7, null].map((value) => stateOf(value, words, false)), statesOf(words, false));
});

test("the largest difference comes first, a missing one last", () => {
  assert.deepEqual(largestFirst([0, null, 2, 0, -1, null]), [2, 0, 3, 4, 1, 5]);
});
