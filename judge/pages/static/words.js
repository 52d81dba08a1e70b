// Numbers and names as they are printed, as on the terminal.

import { clipped } from "./dom.js";

export const NOTHING = "n/a";

export function number(value, digits = 3) {
  return value === null || value === undefined ? NOTHING : fixed(value, digits);
}

export function percent(value) {
  return value === null || value === undefined ? NOTHING : `${fixed(100 * value, 1)}%`;
}

// As the terminal rounds: of two neighbours that are equally near, the even one. `toFixed`
// takes the larger. A number is half way only where so many halvings of 1 make it up.
function fixed(value, digits) {
  const text = value.toFixed(digits);
  const isHalfWay = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
  const last = Number(text.at(-1));
  return isHalfWay && last % 2 ? text.slice(0, -1) + String(last - 1) : text;
}

// Numbers that Python or JavaScript wrote, with a true minus.
export function trueMinus(text) {
  return text.replaceAll("-", "−");
}

export function rate(value) {
  if (value.value === null) return `${value.k}/${value.n} ${NOTHING}`;
  const [low, high] = [value.low, value.high].map((end) => fixed(100 * end, 1));
  return `${value.k}/${value.n} ${percent(value.value)} [${low}, ${high}]`;
}

export function count(n, word, words = `${word}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? word : words}`;
}

// A long value of a field is cut.
export function valueText(value) {
  return clipped(String(value));
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const TONES = ["good", "mild", "notable", "serious", "critical"];

export function gravest(tones) {
  return TONES[Math.max(...tones.map((tone) => TONES.indexOf(tone)))];
}

// The rubric's own words for the items that it declares and for their labels.
export function itemLabels({ kinds, facets, codes }) {
  const kindOf = new Map(kinds.map((kind) => [kind.name, kind]));
  const facetOf = new Map(facets.map((facet) =>
    [facet.name, { ...facet, labelOf: new Map(facet.labels.map((label) => [label.name, label])) }]));
  const graded = kinds.filter((kind) => kind.graded_by !== null && kind.is_listed);
  const grade = (item) => facetOf.get(kindOf.get(item.kind).graded_by).labelOf.get(item.grade);
  return {
    kind: (name) => kindOf.get(name),
    facet: (name) => facetOf.get(name),
    codes: codes === null ? null : facetOf.get(codes),
    grades: graded.length ? facetOf.get(graded[0].graded_by) : null,
    // What the numbered items are called, in one word and in its plural.
    noun: graded.length === 1 ? graded[0] : { label: "item", plural: "items" },
    hasGraded: graded.length > 0,
    grade,
    // An item's labels beside its grade, and where it stands.
    tags: (item) => [
      ...kindOf.get(item.kind).facets.filter((name) => name !== kindOf.get(item.kind).graded_by)
        .flatMap((name) => (item.labels[name] ?? []).map((value) => facetOf.get(name).labelOf.get(value)?.text ?? value.replaceAll("_", " "))),
      ...(item.side ? [`in the ${item.side}`] : []),
      ...(item.links.length ? [`with ${item.links.map((at) => at + 1).join(", ")}`] : []),
    ],
    gravest: (items) => gravest(items.map((item) => grade(item).tone)),
  };
}

export function labels({ rubric, figures }) {
  const whole = new Set(figures.scores.filter((score) => score.whole).map(({ name }) => name));
  return {
    ...itemLabels(rubric),
    scores: rubric.scores,
    checks: rubric.checks,
    // A score that has whole numbers only, in this run, is printed as such.
    score: (name, value) => number(value, whole.has(name) ? 0 : 3),
  };
}
