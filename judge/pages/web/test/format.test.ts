import assert from "node:assert/strict";
import { test } from "node:test";

// @ts-expect-error: this module is JavaScript
import { number, percent } from "../src/old/format.js";

test("half way between two neighbours a number is rounded to the even one, as Python does", () => {
  assert.equal(number(0.0625), "0.062");
  assert.equal(percent(0.00125), "0.1%");
  assert.equal(number(null), "n/a");
});
