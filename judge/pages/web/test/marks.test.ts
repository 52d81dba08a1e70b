import assert from "node:assert/strict";
import { test } from "node:test";

import { applyKey, isComplete, keysOf, labelled, merged, shownAs } from "../src/reading/marks.ts";
import type { Content, Mark } from "../src/reading/marks.ts";
import { NO_CHOICE, chosenByKey, rangeOf, wordsOfReport } from "../src/reading/words.ts";
import { LINES, REPORTS, WORDS, report } from "./rubrics.ts";

const MARK: Mark = {
  kind: "error",
  labels: {},
  text: "effusion",
  side: "candidate",
  start: 6,
  end: 14,
  edit: null,
};

function line(at: number, corrected: string): Mark {
  return {
    ...MARK,
    labels: { category: ["a"], level: ["low"] },
    edit: { kind: "change", line: at, corrected },
  };
}

function content(...items: Mark[]): Content {
  return { items, comment: "", done: true, cannot_judge: "" };
}

test("a key gives its label, one in the place of another; a key of nothing gives none", () => {
  const first = applyKey(WORDS, MARK, "a");
  assert.deepEqual(first?.labels, { category: ["a"] });
  assert.equal(isComplete(WORDS, first ?? MARK), false);
  const second = applyKey(WORDS, first ?? MARK, "b");
  assert.deepEqual(second?.labels, { category: ["b"] });
  assert.equal(applyKey(WORDS, MARK, "z"), null);
});

test("a corrected line has several categories, of which the last one stays", () => {
  const [category] = LINES.facets;
  assert.ok(category);
  const both = labelled(LINES, labelled(LINES, MARK, category, "b"), category, "a");
  assert.deepEqual(both.labels.category, ["a", "b"]);
  const one = labelled(LINES, both, category, "b");
  assert.deepEqual(one.labels.category, ["a"]);
  assert.deepEqual(labelled(LINES, one, category, "a").labels.category, ["a"]);
});

test("a mark that becomes one of another kind keeps only what that kind has, and a label turns it back", () => {
  const matched = applyKey(WORDS, { ...MARK, labels: { category: ["a"] } }, "m");
  assert.deepEqual([matched?.kind, matched?.labels], ["matched", {}]);
  assert.equal(isComplete(WORDS, matched ?? MARK), true);
  assert.equal(applyKey(WORDS, matched ?? MARK, "1")?.kind, "error");
});

test("the tone of a mark is that of its grade", () => {
  const shown = shownAs(WORDS, { ...MARK, labels: { category: ["a"], level: ["high"] } });
  assert.deepEqual(shown, { tone: "serious", grade: "high", tags: ["(a)"] });
  assert.equal(shownAs(WORDS, { ...MARK, kind: "matched" }).tone, "good");
});

test("no two keys of a rubric are one", () => {
  const keys = keysOf(WORDS).map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length);
});

test("two versions together have all that either has, each mark once", () => {
  const other = { ...MARK, start: 0, end: 5 };
  const both = merged({ ...content(MARK, other), comment: "theirs" }, { ...content(MARK), comment: "mine" });
  assert.deepEqual(both.items, [other, MARK]);
  assert.deepEqual([both.comment, both.done], ["theirs\nmine", false]);
});

test("of two corrections of one line mine stands, and theirs is not lost", () => {
  const both = merged(content(line(0, "Theirs."), line(1, "Other.")), content(line(0, "Mine.")));
  assert.deepEqual(
    both.items.map(({ edit }) => edit?.corrected),
    ["Other.", "Mine."],
  );
  assert.match(both.comment, /Theirs\./);
});

test("places are counted in code points, and words keep their hyphens and percent signs", () => {
  const words = wordsOfReport(report("A 😀 well-known 50% rise."));
  assert.deepEqual(
    words.words.map(({ text }) => text),
    ["A", "well-known", "50%", "rise"],
  );
  const choice = { anchor: 1, head: 2, isResting: false };
  assert.deepEqual(rangeOf(words, choice), { start: 4, end: 18, text: "well-known 50%" });
});

test("arrows choose words and lines, with Shift more of them", () => {
  const words = wordsOfReport(REPORTS.reference);
  const first = chosenByKey(words, NO_CHOICE, "ArrowRight", false);
  assert.deepEqual(first && rangeOf(words, first)?.text, "No");
  const two = first && chosenByKey(words, first, "ArrowRight", true);
  assert.deepEqual(two && rangeOf(words, two)?.text, "No effusion");
  const line2 = two && chosenByKey(words, two, "ArrowDown", false);
  assert.deepEqual(line2 && rangeOf(words, line2)?.text, "A 12 mm nodule");
  const all = line2 && chosenByKey(words, line2, "ArrowUp", true);
  assert.deepEqual(all && rangeOf(words, all)?.start, 0);
  assert.equal(chosenByKey(words, NO_CHOICE, "x", false), null);
});
