// The words of a report, and which of them are chosen. Places are counted in Unicode code points, as
// the service counts them.

import type { ReportToRead } from "../api.ts";

const WORD = /([\p{L}\p{N}_]+(?:[-'’.,/][\p{L}\p{N}_]+)*%?)/u;

export interface Token {
  start: number;
  end: number;
  text: string;
  // The word that is chosen with it: what lies between words belongs to the one before.
  word: number;
}

export interface Words {
  tokens: Token[];
  // The tokens that are words.
  words: Token[];
  // For each word the line that it is in.
  lines: number[];
  points: string[];
}

export function wordsOfReport({ text, lines }: ReportToRead): Words {
  const tokens: Token[] = [];
  const words: Token[] = [];
  let start = 0;
  text.split(WORD).forEach((part, at) => {
    if (part === "") return;
    const isWord = at % 2 === 1;
    const token = {
      start,
      end: start + [...part].length,
      text: part,
      word: isWord ? words.length : Math.max(0, words.length - 1),
    };
    tokens.push(token);
    if (isWord) words.push(token);
    start = token.end;
  });
  return {
    tokens,
    words,
    lines: words.map((word) => lines.findLastIndex((line) => line.start <= word.start)),
    points: [...text],
  };
}

// The words from `anchor` to `head`, -1 for none. Where they rest, the next are chosen from there,
// and they are shown as chosen no longer.
export interface Choice {
  anchor: number;
  head: number;
  isResting: boolean;
}

export const NO_CHOICE: Choice = { anchor: -1, head: -1, isResting: false };

export function spanOf({ anchor, head }: Choice): [number, number] {
  return [Math.min(anchor, head), Math.max(anchor, head)];
}

// A word, and with `more` all from the first chosen one to it.
export function choosing(choice: Choice, word: number, more: boolean): Choice {
  const isMore = more && choice.anchor >= 0;
  return { anchor: isMore ? choice.anchor : word, head: word, isResting: false };
}

// A line is chosen whole; with `more` it is added to what was chosen.
export function choosingLine({ lines }: Words, choice: Choice, line: number, more: boolean): Choice | null {
  const [first, last] = [lines.indexOf(line), lines.lastIndexOf(line)];
  if (first < 0) return null;
  if (!more || choice.anchor < 0) return { anchor: first, head: last, isResting: false };
  return choosing(choice, first < choice.anchor ? first : last, true);
}

// What an arrow key chooses, null for another key or where nothing is left to choose.
export function chosenByKey(words: Words, choice: Choice, key: string, more: boolean): Choice | null {
  const last = words.words.length - 1;
  if (last < 0) return null;
  const line = words.lines[choice.head] ?? -1;
  switch (key) {
    case "ArrowRight":
      return choosing(choice, Math.min(last, choice.head + 1), more);
    case "ArrowLeft":
      return choosing(choice, Math.max(0, choice.head < 0 ? last : choice.head - 1), more);
    case "ArrowDown":
      return choosingLine(words, choice, line + 1, more);
    case "ArrowUp":
      return choosingLine(words, choice, line < 0 ? (words.lines[last] ?? 0) : line - 1, more);
    default:
      return null;
  }
}

export interface Range {
  start: number;
  end: number;
  text: string;
}

// The place and the text of what is chosen, null for nothing.
export function rangeOf({ words, points }: Words, choice: Choice): Range | null {
  const [first, last] = spanOf(choice);
  const [from, to] = [words[first], words[last]];
  if (!from || !to) return null;
  return { start: from.start, end: to.end, text: points.slice(from.start, to.end).join("") };
}
