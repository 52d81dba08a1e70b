import assert from "node:assert/strict";
import { test } from "node:test";

import { once } from "../src/results/loading.ts";

test("what is loaded is asked for once, and again after a failure", async () => {
  const loaded = new Map<number, Promise<string>>();
  let nAsked = 0;
  const load = () => {
    nAsked += 1;
    return nAsked === 1 ? Promise.reject(new Error("away")) : Promise.resolve("here");
  };
  await assert.rejects(once(loaded, 0, load), /away/);
  assert.equal(await once(loaded, 0, load), "here");
  assert.equal(await once(loaded, 0, load), "here");
  assert.equal(nAsked, 2);
});
