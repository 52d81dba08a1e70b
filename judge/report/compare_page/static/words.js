// Numbers and names as they are printed, as on the terminal.

export const NOTHING = "n/a";

export function number(value, digits = 3) {
  return value === null || value === undefined ? NOTHING : value.toFixed(digits);
}

// A score of a study: whole numbers as they are.
export function score(value) {
  if (value === null || value === undefined) return NOTHING;
  return Number.isInteger(value) && Math.abs(value) > 1 ? String(value) : value.toFixed(3);
}

export function percent(value) {
  return value === null || value === undefined ? NOTHING : `${(100 * value).toFixed(1)}%`;
}

export function rate(value) {
  if (!value) return NOTHING;
  if (value.rate === null) return `${value.k}/${value.n} ${NOTHING}`;
  const [low, high] = [value.low, value.high].map((end) => (100 * end).toFixed(1));
  return `${value.k}/${value.n} ${percent(value.rate)} [${low}, ${high}]`;
}

export function count(n, word, words = `${word}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? word : words}`;
}

export function shown(value) {
  return value === null || value === undefined ? "(none)" : String(value);
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// The rubric's own words for its levels and for the categories.
export function labels(overview) {
  const levels = new Map(overview.rubric.levels.map((level) => [level.name, level]));
  return {
    level: (name) => levels.get(name),
    levels: overview.rubric.levels,
    category: (letter) => `(${letter}) ${overview.categories[letter]}`,
    categories: Object.keys(overview.categories),
    scores: overview.rubric.scores,
    checks: overview.rubric.checks,
    gravest: (names) => {
      const tones = ["mild", "notable", "serious", "critical"];
      const found = names.map((name) => tones.indexOf(levels.get(name).tone));
      return tones[Math.max(...found)];
    },
  };
}
