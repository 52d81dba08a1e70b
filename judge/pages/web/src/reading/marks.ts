// The marks of a reader: how they are labelled, and how two versions of a study are put together.

import type { FacetToLabel, KeptMark, KindToMark, LabelToGive, RubricToRead } from "../api.ts";

export type Mark = KeptMark;
export type Side = "reference" | "candidate";
export type Tone = NonNullable<LabelToGive["tone"]>;

// What a reader has said of a study.
export interface Content {
  items: readonly Mark[];
  comment: string;
  done: boolean;
  // Why the study cannot be judged; empty where it can.
  cannot_judge: string;
}

export const NOTHING_SAID: Content = { items: [], comment: "", done: false, cannot_judge: "" };

// The kind of a new mark.
export function errorKind(rubric: RubricToRead): KindToMark {
  const [first] = rubric.kinds;
  if (!first) throw new Error(`${rubric.title} has nothing to mark`);
  return first;
}

export function kindOf(rubric: RubricToRead, mark: Mark): KindToMark {
  return rubric.kinds.find(({ name }) => name === mark.kind) ?? errorKind(rubric);
}

export function facetsOf(rubric: RubricToRead, kind: KindToMark): FacetToLabel[] {
  return kind.facets.flatMap((name) => rubric.facets.filter((facet) => facet.name === name));
}

export function isError(rubric: RubricToRead, mark: Mark): boolean {
  return kindOf(rubric, mark).graded_by !== null;
}

export function isComplete(rubric: RubricToRead, mark: Mark): boolean {
  return kindOf(rubric, mark).facets.every((name) => (mark.labels[name] ?? []).length > 0);
}

// The mark with a label more, or another one in its place. A label that it has is taken away where
// there can be several and another is left.
export function labelled(rubric: RubricToRead, mark: Mark, facet: FacetToLabel, label: string): Mark {
  const own = kindOf(rubric, mark);
  const kind = [own, ...rubric.kinds].find(({ facets }) => facets.includes(facet.name)) ?? own;
  const others = (mark.labels[facet.name] ?? []).filter((other) => other !== label);
  const isThere = (mark.labels[facet.name] ?? []).includes(label);
  let labels = [label];
  if (facet.has_several && isThere && others.length > 0) labels = others;
  else if (facet.has_several) labels = [...others, label].sort();
  return ofKind({ ...mark, labels: { ...mark.labels, [facet.name]: labels } }, kind);
}

// The mark as one of a kind, with the labels that this has.
export function ofKind(mark: Mark, kind: KindToMark): Mark {
  const labels = Object.entries(mark.labels).filter(([name]) => kind.facets.includes(name));
  return { ...mark, kind: kind.name, labels: Object.fromEntries(labels) };
}

// The mark with the label or the kind of a key, null for a key of neither.
export function applyKey(rubric: RubricToRead, mark: Mark, key: string): Mark | null {
  const kind = rubric.kinds.find((other) => other.key === key);
  if (kind) return ofKind(mark, kind);
  for (const facet of rubric.facets) {
    const label = facet.labels.find((other) => other.key === key);
    if (label) return labelled(rubric, mark, facet, label.name);
  }
  return null;
}

// The keys of the rubric, each with what it says.
export function keysOf(rubric: RubricToRead): { key: string; text: string }[] {
  const labels = rubric.facets.flatMap((facet) => facet.labels);
  const named = [
    ...labels.map(({ key, label }) => ({ key, text: label })),
    ...rubric.kinds.map(({ key, label }) => ({ key, text: label })),
  ];
  return named.flatMap(({ key, text }) => (key === null ? [] : [{ key, text }]));
}

export interface ShownMark {
  tone: Tone;
  grade: string;
  tags: string[];
}

// What a mark's tone and words are on its card.
export function shownAs(rubric: RubricToRead, mark: Mark): ShownMark {
  const kind = kindOf(rubric, mark);
  const labelsOf = (facet: FacetToLabel) =>
    facet.labels.filter(({ name }) => (mark.labels[facet.name] ?? []).includes(name));
  const facets = facetsOf(rubric, kind);
  const [grade] = facets.filter(({ name }) => name === kind.graded_by).flatMap(labelsOf);
  const tags = facets.filter(({ name }) => name !== kind.graded_by).flatMap(labelsOf);
  return {
    tone: kind.graded_by === null ? "good" : (grade?.tone ?? "mild"),
    grade: grade?.label ?? kind.label,
    tags: tags.map(({ text }) => text),
  };
}

// The words of a mark: those that were marked, or those that are put in their place.
export function wordsOf({ edit, text }: Mark): string {
  if (edit && edit.kind !== "delete") return edit.corrected;
  return text || "(no words)";
}

// Whether both correct the same line, so that one has to take the place of the other.
export function sameLine(one: Mark, other: Mark): boolean {
  if (!one.edit || !other.edit) return false;
  return one.edit.kind !== "insert" && other.edit.kind !== "insert" && one.edit.line === other.edit.line;
}

// Two versions of a study as one that has all that either has. Where both correct a line, mine
// stands and theirs is in the comment. The study is then to be looked at again.
export function merged(theirs: Content, mine: Content): Content {
  const known = new Set(mine.items.map((mark) => identity(mark)));
  const others = theirs.items.filter((mark) => !known.has(identity(mark)));
  const replaced = others.filter((mark) => mine.items.some((own) => sameLine(own, mark)));
  const comments = [
    theirs.comment,
    mine.comment === theirs.comment ? "" : mine.comment,
    ...replaced.map((mark) => `Line ${mark.edit?.line} elsewhere: ${wordsOf(mark)}`),
  ];
  return {
    items: [...others.filter((mark) => !replaced.includes(mark)), ...mine.items],
    comment: comments.filter(Boolean).join("\n"),
    done: false,
    cannot_judge: mine.cannot_judge || theirs.cannot_judge,
  };
}

function identity({ kind, labels, text, side, start, end, edit }: Mark): string {
  const names = Object.keys(labels).sort();
  const line = edit && [edit.kind, edit.line, edit.corrected];
  return JSON.stringify([kind, names.map((name) => [name, labels[name]]), text, side, start, end, line]);
}
