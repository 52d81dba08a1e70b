import assert from "node:assert/strict";
import { test } from "node:test";

import { Polled } from "../src/results/polled.ts";

interface Answer {
  look_again_after: number | null;
  n: number;
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => { setTimeout(resolve, 1000 * seconds); });
}

test("it is asked again while something is under way, and no longer", async () => {
  let n = 0;
  const polled = new Polled<Answer>({ look_again_after: 0.01, n }, async () => {
    n += 1;
    return { look_again_after: n < 3 ? 0.01 : null, n };
  });
  await pause(0.3);
  assert.equal(n, 3);
  assert.equal(polled.state.n, 3);
  await polled.refresh();
  assert.equal(polled.state.n, 4);
});

test("an answer that comes late does not take the place of a newer one", async () => {
  const waiting: ((answer: Answer) => void)[] = [];
  const polled = new Polled<Answer>({ look_again_after: null, n: 0 }, () => new Promise((resolve) => { waiting.push(resolve); }));
  const first = polled.refresh();
  const second = polled.refresh();
  waiting[1]?.({ look_again_after: null, n: 2 });
  await second;
  waiting[0]?.({ look_again_after: null, n: 1 });
  await first;
  assert.equal(polled.state.n, 2);
});

test("a page that has ended asks no more", async () => {
  let n = 0;
  const polled = new Polled<Answer>({ look_again_after: 0.01, n }, async () => {
    n += 1;
    return { look_again_after: 0.01, n };
  });
  polled.end();
  await pause(0.1);
  assert.equal(n, 0);
});
