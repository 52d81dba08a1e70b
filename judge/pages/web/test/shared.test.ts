import assert from "node:assert/strict";
import { test } from "node:test";

import { checkKeys, keyName, keyOf } from "../src/shared/keys.tsx";
import { Latest, ServiceError, ask } from "../src/shared/service.ts";
import { Store } from "../src/shared/store.ts";

const act = () => true;

test("a capital letter is the key of its small one, so that Caps Lock changes nothing", () => {
  assert.equal(keyOf("N"), "n");
  assert.equal(keyOf("Escape"), "Escape");
  assert.equal(keyName("Escape"), "Esc");
});

test("two actions cannot have one key, nor keys that differ by case alone", () => {
  checkKeys([
    { key: "n", text: "next", act },
    { key: "Enter", text: "done", act },
  ]);
  assert.throws(() =>
    checkKeys([
      { key: "n", text: "next", act },
      { key: "n", text: "none", act },
    ]),
  );
  assert.throws(() => checkKeys([{ key: "N", text: "none", act }]));
});

test("a store tells its listeners of each change, and of nothing else", () => {
  const store = new Store({ n: 0, name: "a" });
  let nTold = 0;
  const stop = store.subscribe(() => {
    nTold += 1;
  });
  store.update({ n: 1 });
  store.set(store.state);
  assert.deepEqual([nTold, store.state], [1, { n: 1, name: "a" }]);
  stop();
  store.update({ n: 2 });
  assert.equal(nTold, 1);
});

test("of two questions the older one's answer is dropped, in whatever order they are answered", async () => {
  const latest = new Latest();
  let answerFirst: (text: string) => void = () => {};
  const first = latest.only(
    new Promise<string>((resolve) => {
      answerFirst = resolve;
    }),
  );
  const second = latest.only(Promise.resolve("second"));
  answerFirst("first");
  assert.deepEqual(await Promise.all([first, second]), [null, "second"]);
});

test("what the service says is wrong is the message of the error, with its status", async () => {
  const asked: [string, RequestInit | undefined][] = [];
  globalThis.fetch = async (address, request) => {
    asked.push([String(address), request]);
    const headers = { "Content-Type": "application/problem+json" };
    return new Response(JSON.stringify({ title: "Conflict", detail: "It was changed.", version: 3 }), {
      status: 409,
      headers,
    });
  };
  const failed = await ask("/v1/x", { method: "POST", query: { a: "b c" }, body: { n: 1 } }).catch(
    (error: unknown) => error,
  );
  assert.ok(failed instanceof ServiceError);
  assert.deepEqual([failed.message, failed.status, failed.problem.version], ["It was changed.", 409, 3]);
  assert.equal(asked[0]?.[0], "/v1/x?a=b+c");
  assert.equal(asked[0]?.[1]?.body, '{"n":1}');
});

test("a service that is gone is named in words", async () => {
  globalThis.fetch = async () => {
    throw new TypeError("Failed to fetch");
  };
  await assert.rejects(ask("/v1/x"), /judge serve/);
});
