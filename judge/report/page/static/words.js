// Numbers and names as they are printed, as on the terminal.

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
export function printed(text) {
  return text.replaceAll("-", "−");
}

export function rate(value) {
  if (!value) return NOTHING;
  if (value.rate === null) return `${value.k}/${value.n} ${NOTHING}`;
  const [low, high] = [value.low, value.high].map((end) => fixed(100 * end, 1));
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
  const whole = new Set(overview.figures.scores.filter(({ bins }) =>
    bins.length && bins.every(({ low, high }) => low === high)).map(({ name }) => name));
  return {
    level: (name) => levels.get(name),
    levels: overview.rubric.levels,
    category: (letter) => `(${letter}) ${overview.categories[letter]}`,
    categories: Object.keys(overview.categories),
    scores: overview.rubric.scores,
    checks: overview.rubric.checks,
    // A score that has whole numbers only, in this run, is printed as such.
    score: (name, value) => number(value, whole.has(name) ? 0 : 3),
    gravest: (names) => {
      const tones = ["mild", "notable", "serious", "critical"];
      const found = names.map((name) => tones.indexOf(levels.get(name).tone));
      return tones[Math.max(...found)];
    },
  };
}
