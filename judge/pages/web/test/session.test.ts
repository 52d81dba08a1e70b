// The queue, what is unsaved, what is undone, and two tabs of one reader, with a service made up here.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import type { KeptReading, StudyReading } from "../src/api.ts";
import { UNLABELLED } from "../src/reading/editing.ts";
import { Session } from "../src/reading/session.ts";
import { LINES, WORDS, queueOf, study } from "./rubrics.ts";

const kept = new Map<string, KeptReading>();
let nKept = 0;
let isAway = false;
// What saving waits for.
let slow: Promise<void> | null = null;
let said: string[] = [];

function problem(status: number, detail: string): Response {
  const headers = { "Content-Type": "application/problem+json" };
  return new Response(JSON.stringify({ detail }), { status, headers });
}

// Keeps a reading that replaces the last one, as the service does.
function keep(reading: StudyReading): Response {
  const last = kept.get(reading.study_id);
  if ((last?.id ?? "") !== reading.replaces) return problem(409, "changed elsewhere");
  nKept += 1;
  const { items = [], comment = "", cannot_judge = "", seconds = null, done } = reading;
  const made = {
    study_id: reading.study_id,
    reader: reading.reader,
    texts: "",
    done,
    items,
    comment,
    cannot_judge,
    seconds,
  };
  kept.set(reading.study_id, { ...made, id: `id${nKept}`, at: "" } as KeptReading);
  return new Response(JSON.stringify(kept.get(reading.study_id)), { status: 201 });
}

globalThis.fetch = async (address, request) => {
  if (isAway) throw new TypeError("Failed to fetch");
  const [path, query] = String(address).split("?");
  if (path?.endsWith("/readings")) {
    await slow;
    return keep(JSON.parse(String(request?.body)) as StudyReading);
  }
  const id = new URLSearchParams(query).get("id") ?? "";
  return new Response(JSON.stringify({ ...study(id), reading: kept.get(id) ?? null }));
};

let time = 0;

function tab(rubric = WORDS): Session {
  const options = {
    base: "/v1/runs/x",
    reader: "Ana",
    announce: (text: string) => said.push(text),
    now: () => time,
  };
  return new Session(queueOf(rubric, "one", "two"), options);
}

// The words of a line of the candidate are marked as an error.
function mark(session: Session, head: number): void {
  session.state.editing?.choose("candidate", { anchor: head, head, isResting: false });
  session.state.editing?.press("a");
  session.state.editing?.press("1");
}

function texts(session: Session): string[] {
  return (session.state.editing?.state.content.items ?? []).map(({ text }) => text);
}

beforeEach(() => {
  kept.clear();
  [nKept, isAway, slow, said, time] = [0, false, null, [], 0];
});

test("each change is saved, and the queue says how far the reader is", async () => {
  const session = tab();
  await session.open(0);
  mark(session, 1);
  await session.saving.send();
  assert.deepEqual(
    kept.get("one")?.items.map(({ text }) => text),
    ["effusion"],
  );
  assert.equal(session.state.queue[0]?.state, "begun");
  session.state.editing?.finish(true);
  await session.saving.send();
  assert.equal(session.state.queue[0]?.state, "done");
  assert.equal(session.unfinished(0), 1);
  assert.equal(session.saving.state.isSaved, true);
});

test("a study is not ended with a mark without labels, nor without errors where there are some", async () => {
  const session = tab();
  await session.open(0);
  session.state.editing?.choose("candidate", { anchor: 0, head: 0, isResting: false });
  assert.equal(session.leaveStudy(), UNLABELLED);
  session.state.editing?.press("a");
  session.state.editing?.press("2");
  assert.equal(session.state.editing?.finish(false), WORDS.has_marks);
  assert.equal(kept.get("one")?.done ?? false, false);
});

test("undo takes back that a study is done, also from the next study, and says so", async () => {
  const session = tab();
  await session.open(0);
  session.state.editing?.finish(false);
  await session.open(1);
  assert.match(said.at(-1) ?? "", /study 1: done, no errors\. Undo takes it back\. Study 2 of 2/);
  assert.equal(session.state.undoable, "study 1: done, no errors");
  await session.undo();
  await session.saving.send();
  assert.deepEqual([session.state.at, kept.get("one")?.done], [0, false]);
  assert.equal(session.state.queue[0]?.state, "begun");
  await session.undo();
  assert.equal(said.at(-1), "There is nothing to undo");
});

test("what cannot be saved stays, is shown when the study is opened again, and is sent later", async () => {
  const session = tab();
  await session.open(0);
  isAway = true;
  mark(session, 1);
  await session.saving.send();
  assert.match(session.saving.state.problem, /judge serve/);
  assert.equal(session.saving.hasUnsaved, true);
  isAway = false;
  await session.open(1);
  await session.open(0);
  assert.deepEqual(texts(session), ["effusion"]);
  await session.saving.send();
  assert.deepEqual([session.saving.hasUnsaved, session.saving.state.problem], [false, ""]);
  assert.equal(kept.get("one")?.items.length, 1);
});

async function conflict(): Promise<[Session, Session]> {
  const [first, second] = [tab(), tab()];
  await first.open(0);
  await second.open(0);
  mark(first, 0);
  await first.saving.send();
  mark(second, 1);
  await second.saving.send();
  assert.equal(second.saving.state.conflicts.length, 1);
  assert.deepEqual(
    kept.get("one")?.items.map(({ text }) => text),
    ["Small"],
  );
  return [first, second];
}

test("of two tabs the second never wins in silence, and can keep both", async () => {
  const [, second] = await conflict();
  // Other studies are saved meanwhile, and what is marked on is not lost.
  mark(second, 2);
  const [found] = second.saving.state.conflicts;
  assert.ok(found);
  await second.open(1);
  second.state.editing?.finish(false);
  await second.saving.send();
  assert.equal(kept.get("two")?.done, true);
  await second.resolve(found, true);
  await second.saving.send();
  assert.deepEqual(texts(second), ["Small", "effusion", "Clear"]);
  assert.equal(kept.get("one")?.items.length, 3);
  assert.equal(second.saving.hasUnsaved, false);
});

test("of two tabs the second can load what was saved, and undo brings its own back", async () => {
  const [, second] = await conflict();
  const [found] = second.saving.state.conflicts;
  assert.ok(found);
  await second.resolve(found, false);
  assert.deepEqual(texts(second), ["Small"]);
  await second.undo();
  await second.saving.send();
  assert.deepEqual(
    kept.get("one")?.items.map(({ text }) => text),
    ["effusion"],
  );
});

test("what is said of a study is saved as its own, also when another one is in view", async () => {
  const session = tab();
  await session.open(0);
  const first = session.state.editing;
  await session.open(1);
  first?.cannotJudge("blurred");
  await session.saving.send();
  assert.equal(kept.get("one")?.cannot_judge, "blurred");
  assert.equal(kept.has("two"), false);
  assert.equal(session.state.queue[1]?.state, "new");
});

test("the study that was asked for last is opened, also if an earlier one waits for its save", async () => {
  const session = tab();
  await session.open(0);
  let release = () => {};
  slow = new Promise((resolve) => {
    release = resolve;
  });
  mark(session, 1);
  await session.open(1);
  const back = session.open(0);
  await session.open(1);
  release();
  await back;
  assert.equal(session.state.at, 1);
});

test("a change whose study cannot be opened can be undone later", async () => {
  const session = tab();
  await session.open(0);
  mark(session, 1);
  await session.saving.send();
  await session.open(1);
  isAway = true;
  await assert.rejects(session.undo());
  isAway = false;
  await session.undo();
  assert.equal(session.state.at, 0);
  assert.deepEqual(texts(session), []);
});

test("undo does not take back what another tab has saved since", async () => {
  const first = tab();
  await first.open(0);
  mark(first, 1);
  await first.saving.send();
  await first.open(1);
  const second = tab();
  await second.open(0);
  mark(second, 2);
  await second.saving.send();
  await first.undo();
  await first.saving.send();
  assert.match(said.at(-1) ?? "", /Not undone/);
  assert.deepEqual(texts(first), ["effusion", "Clear"]);
  assert.equal(kept.get("one")?.items.length, 2);
});

test("practice is kept nowhere, and cannot be undone once the reading has begun", async () => {
  const session = tab();
  session.openPractice(0);
  mark(session, 1);
  session.state.editing?.finish(true);
  await session.saving.send();
  assert.equal(kept.size, 0);
  await session.endPractice();
  assert.deepEqual([session.state.phase, session.state.at, session.state.undoable], ["reading", 0, ""]);
});

test("the time of a study is that in which it was in view", async () => {
  const session = tab();
  await session.open(0);
  time = 20_000;
  session.look(true);
  time = 500_000;
  session.look(false);
  time = 510_000;
  session.state.editing?.finish(false);
  await session.saving.send();
  assert.equal(kept.get("one")?.seconds, 30);
});

test("a line is corrected once: a second correction takes the place of the first with its labels", async () => {
  const session = tab(LINES);
  await session.open(0);
  const { editing } = session.state;
  assert.ok(editing);
  editing.begin("change");
  editing.write("Large   effusion.");
  editing.press("a");
  editing.press("1");
  editing.begin("delete");
  const items = editing.state.content.items.map(({ edit, labels }) => [edit?.kind, labels.category]);
  assert.deepEqual(items, [["delete", ["a"]]]);
  await session.undo();
  assert.equal(editing.state.content.items[0]?.edit?.corrected, "Large effusion.");
  // A line that is written as it was is no correction.
  editing.goToLine(1);
  editing.begin("change");
  editing.write("Clear lungs.");
  assert.equal(editing.state.draft, null);
});
