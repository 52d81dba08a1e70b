// Two texts word by word.

import { clipped, el, isolated } from "./dom.js";

const MOST_WORDS = 1500;

// The words of the candidate with those that only the reference has taken out, and its own put in.
export function differences(before, after) {
  const [old, now] = [before, after].map((text) => text.match(/\w+|\s+|[^\w\s]/gu) ?? []);
  if (Math.max(old.length, now.length) > MOST_WORDS) return [el("em", {}, "Too long to compare word by word. "), ...clipped(after)];
  const longest = old.map(() => new Uint16Array(now.length + 1)).concat([new Uint16Array(now.length + 1)]);
  const isEqual = (a, b) => old[a] === now[b] || (!old[a].trim() && !now[b].trim());
  for (let a = old.length - 1; a >= 0; a -= 1) {
    for (let b = now.length - 1; b >= 0; b -= 1) {
      longest[a][b] = isEqual(a, b) ? longest[a + 1][b + 1] + 1 : Math.max(longest[a + 1][b], longest[a][b + 1]);
    }
  }
  const changes = [];
  const add = (tag, word) => {
    if (changes.at(-1)?.tag === tag) changes.at(-1).text += word;
    else changes.push({ tag, text: word });
  };
  let [a, b] = [0, 0];
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && isEqual(a, b)) [a, b] = [a + 1, b + 1, add("span", now[b])];
    else if (b === now.length || (a < old.length && longest[a + 1][b] >= longest[a][b + 1])) add("del", old[a++]);
    else add("ins", now[b++]);
  }
  return changes.map(({ tag, text }) => el(tag, {}, isolated(text)));
}
