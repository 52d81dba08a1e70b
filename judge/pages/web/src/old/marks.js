// The marks of a rubric: their kinds and labels, each with its key, and how a mark is labelled.

// Letters that do something else on the page.
const TAKEN = "nprvijkq";

// The kinds of items with their facets, and for each label the key that gives it: a code of one
// letter is its own key, the labels of other facets have numbers.
export function labelKeys({ kinds, facets, has_edits: hasEdits }) {
  const isCode = ({ name }) => /^[a-z]$/.test(name);
  const keyed = (facet) => {
    const isCoded = facet.labels.some(isCode);
    const keyOf = (label, at) => (isCoded ? (isCode(label) ? label.name : null) : at < 9 ? String(at + 1) : null);
    return {
      ...facet,
      // A corrected line may be wrong in several ways; words that are marked are in one.
      several: hasEdits && isCoded,
      labels: facet.labels.map((label, at) => ({ ...label, key: keyOf(label, at) })),
    };
  };
  const facetOf = new Map(facets.map((facet) => [facet.name, keyed(facet)]));
  const taken = new Set([...TAKEN, ...facets.flatMap(({ labels }) => labels.map(({ name }) => name))]);
  return kinds.map((kind, at) => {
    const key = at === 0 ? null : [...kind.label].find((letter) => /[a-z]/.test(letter) && !taken.has(letter)) ?? null;
    if (key) taken.add(key);
    return { ...kind, key, facets: kind.facets.map((name) => facetOf.get(name)) };
  });
}

export const kindOf = (kinds, item) => kinds.find(({ name }) => name === item.kind);

export const isComplete = (kinds, item) =>
  kindOf(kinds, item).facets.every(({ name }) => item.labels[name]?.length);

// The mark with a label more, or another one in its place; a label that it has is taken away
// where there can be several and another is left.
export function labelled(kinds, item, facet, name) {
  const hasFacet = ({ facets }) => facets.some(({ name: other }) => other === facet);
  const kind = [kindOf(kinds, item), ...kinds].find(hasFacet);
  const { several } = kind.facets.find(({ name: other }) => other === facet);
  const before = item.labels[facet] ?? [];
  const others = before.filter((other) => other !== name);
  const isWithdrawn = several && before.includes(name) && others.length;
  const names = isWithdrawn ? others : [...(several ? others : []), name].sort();
  return ofKind({ ...item, labels: { ...item.labels, [facet]: names } }, kind);
}

// The mark as one of a kind, with the labels that this has.
export function ofKind(item, kind) {
  const names = kind.facets.map(({ name }) => name).filter((name) => item.labels[name]);
  return { ...item, kind: kind.name, labels: Object.fromEntries(names.map((name) => [name, item.labels[name]])) };
}

// The mark with the label of a key, null for a key of no label. A number goes to the first facet
// with numbers that has no label yet, else to the first.
export function applyKey(kinds, item, key) {
  const named = kinds.find((kind) => kind.key === key);
  if (named) return ofKind(item, named);
  for (const kind of [kindOf(kinds, item), ...kinds]) {
    const fitting = kind.facets.filter(({ labels }) => labels.some((label) => label.key === key));
    const facet = fitting.find(({ name }) => !item.labels[name]) ?? fitting[0];
    if (facet) return labelled(kinds, item, facet.name, facet.labels.find((label) => label.key === key).name);
  }
  return null;
}

// By key, what it says.
export const keysOf = (kinds) => new Map(kinds.flatMap(({ key, label, facets }) =>
  [[key, label], ...facets.flatMap(({ labels }) => labels.map((entry) => [entry.key, entry.label]))]).filter(([key]) => key));

// What a mark's tone and words are on its card.
export function shownAs(kinds, item) {
  const kind = kindOf(kinds, item);
  const labelsOf = ({ name, labels }) => labels.filter((label) => item.labels[name]?.includes(label.name));
  const [grade] = kind.facets.filter(({ name }) => name === kind.graded_by).flatMap(labelsOf);
  return {
    tone: kind.graded_by ? grade?.tone ?? "mild" : "good",
    grade: grade?.label ?? kind.label,
    tags: kind.facets.filter(({ name }) => name !== kind.graded_by).flatMap(labelsOf).map(({ text }) => text),
  };
}
