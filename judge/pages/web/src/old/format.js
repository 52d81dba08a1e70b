// Numbers and labels as the terminal prints them, and two texts compared word by word.

import { clipped, el, isolated } from "./dom.js";

export const NO_VALUE = "n/a";
const MAX_WORDS = 1500;

export function number(value, digits = 3) {
  return value === null || value === undefined ? NO_VALUE : fixed(value, digits);
}

export function percent(share) {
  return share === null || share === undefined ? NO_VALUE : `${fixed(100 * share, 1)}%`;
}

// Half way between two neighbours the even one, as Python rounds; `toFixed` takes the larger.
function fixed(value, digits) {
  const text = value.toFixed(digits);
  const isHalfWay = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
  const last = Number(text.at(-1));
  return isHalfWay && last % 2 ? text.slice(0, -1) + String(last - 1) : text;
}

export function trueMinus(text) {
  return text.replaceAll("-", "−");
}

export function rate({ value, k, n, low, high }) {
  if (value === null) return `${k}/${n} ${NO_VALUE}`;
  return `${k}/${n} ${percent(value)} [${fixed(100 * low, 1)}, ${fixed(100 * high, 1)}]`;
}

export function count(n, word, words = `${word}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? word : words}`;
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const TONES = ["good", "mild", "notable", "serious", "critical"];

export function mostSevere(tones) {
  return TONES[Math.max(...tones.map((tone) => TONES.indexOf(tone)))];
}

// The words of a rubric for its items and their labels.
export function itemLabels({ kinds, facets, codes }) {
  const kindOf = new Map(kinds.map((kind) => [kind.name, kind]));
  const facetOf = new Map(facets.map((facet) =>
    [facet.name, { ...facet, labelOf: new Map(facet.labels.map((label) => [label.name, label])) }]));
  const graded = kinds.filter((kind) => kind.graded_by !== null && kind.is_listed);
  const textOf = (facet, value) => facetOf.get(facet).labelOf.get(value)?.text ?? value.replaceAll("_", " ");
  return {
    kind: (name) => kindOf.get(name),
    facet: (name) => facetOf.get(name),
    codes: codes === null ? null : facetOf.get(codes),
    grades: graded.length ? facetOf.get(graded[0].graded_by) : null,
    // The singular and the plural of the numbered items.
    noun: graded.length === 1 ? graded[0] : { label: "item", plural: "items" },
    hasGraded: graded.length > 0,
    grade: (item) => facetOf.get(kindOf.get(item.kind).graded_by).labelOf.get(item.grade),
    // The labels of an item beside its grade, its side and the items that it is linked to.
    tags: ({ kind, labels, side, links }) => [
      ...kindOf.get(kind).facets.filter((facet) => facet !== kindOf.get(kind).graded_by)
        .flatMap((facet) => (labels[facet] ?? []).map((value) => textOf(facet, value))),
      ...(side ? [`in the ${side}`] : []),
      ...(links.length ? [`with ${links.map((link) => link + 1).join(", ")}`] : []),
    ],
  };
}

// The words that only `before` has as deleted, those that only `after` has as inserted.
export function differences(before, after) {
  const [old, now] = [before, after].map((text) => text.match(/\w+|\s+|[^\w\s]/gu) ?? []);
  if (Math.max(old.length, now.length) > MAX_WORDS) return [el("em", {}, "Too long to compare word by word. "), ...clipped(after)];
  const isEqual = (a, b) => old[a] === now[b] || (!old[a].trim() && !now[b].trim());
  // The longest common sequence of words from each pair of positions on.
  const longest = [...old, ""].map(() => new Uint16Array(now.length + 1));
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
    const isKept = a < old.length && b < now.length && isEqual(a, b);
    const isOut = !isKept && (b === now.length || (a < old.length && longest[a + 1][b] >= longest[a][b + 1]));
    add(isKept ? "span" : isOut ? "del" : "ins", isOut ? old[a] : now[b]);
    if (isKept || isOut) a += 1;
    if (!isOut) b += 1;
  }
  return changes.map(({ tag, text }) => el(tag, {}, isolated(text)));
}
