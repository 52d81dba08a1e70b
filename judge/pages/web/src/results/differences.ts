// Two models on one study: by how much A is ahead of B, as the page's data write it.

import type { ComparisonWords, TextSteps } from "../api.ts";

// The text of a number, which is looked up and never written here.
export function textOf({ starts, texts }: TextSteps, value: number): string {
  let first = 0;
  let end = starts.length;
  while (first + 1 < end) {
    const middle = (first + end) >> 1;
    if ((starts[middle] ?? Infinity) <= value) first = middle;
    else end = middle;
  }
  return texts[first] ?? "";
}

// By how much A is better than B, null where one has no value. Without B, how good A is.
export function aheadBy(a: number | null, b: number | null | undefined, sign: number): number | null {
  if (a === null || b === null) return null;
  return sign * (a - (b ?? 0));
}

// What is said of a difference; without B only whether there is one.
export function stateOf(ahead: number | null, words: ComparisonWords, hasB: boolean): string {
  if (ahead === null) return words.not_scored;
  if (!hasB) return words.scored;
  if (ahead === 0) return words.equal;
  return ahead > 0 ? words.ahead : words.behind;
}

export function statesOf(words: ComparisonWords, hasB: boolean): string[] {
  return hasB ? [words.ahead, words.equal, words.behind, words.not_scored] : [words.scored, words.not_scored];
}

// The rows by their differences, the largest first; those without one last, else as they come.
export function largestFirst(differences: readonly (number | null)[]): number[] {
  return [...differences.keys()].sort((a, b) => {
    const left = differences[a] ?? null;
    const right = differences[b] ?? null;
    if (left === null || right === null) return Number(left === null) - Number(right === null) || a - b;
    return right - left || a - b;
  });
}
