// What a rubric lets a reader mark, each label with its key, and how a mark is made of them.

// Letters that do something else on the page.
const TAKEN = "nprvijkq";

// The kinds of items with their facets, and for each label the key that gives it: a code of one
// letter is its own key, the labels of other facets have numbers.
export function scheme({ kinds, facets, has_edits: hasEdits }) {
  const facetOf = new Map(facets.map((facet) => [facet.name, facet]));
  const coded = (facet) => facet.labels.some(({ name }) => /^[a-z]$/.test(name));
  const keyed = (facet) => ({
    ...facet,
    coded: coded(facet),
    // A corrected line may be wrong in several ways; words that are marked are in one.
    several: hasEdits && coded(facet),
    labels: facet.labels.map((label, at) => ({ ...label, key: keyOf(label.name, at, coded(facet)) })),
  });
  const taken = new Set([...TAKEN, ...facets.flatMap((facet) => facet.labels.map(({ name }) => name))]);
  return kinds.map((kind, at) => {
    const letter = at === 0 ? null : [...kind.label].find((one) => /[a-z]/.test(one) && !taken.has(one));
    if (letter) taken.add(letter);
    return { ...kind, key: letter ?? null, facets: kind.facets.map((name) => keyed(facetOf.get(name))) };
  });
}

function keyOf(name, at, isCoded) {
  if (isCoded) return /^[a-z]$/.test(name) ? name : null;
  return at < 9 ? String(at + 1) : null;
}

export const kindOf = (kinds, item) => kinds.find(({ name }) => name === item.kind);

export const isWhole = (kinds, item) =>
  kindOf(kinds, item).facets.every(({ name }) => item.labels[name]?.length);

// The mark with a label more, or another one in its place; a label that it has is taken away
// where there can be several and another is left.
export function labelled(kinds, item, facet, name) {
  const own = kindOf(kinds, item);
  const kind = own.facets.some((one) => one.name === facet) ? own
    : kinds.find(({ facets }) => facets.some((one) => one.name === facet));
  const { several } = kind.facets.find((one) => one.name === facet);
  const had = item.labels[facet] ?? [];
  const without = had.filter((one) => one !== name);
  const rest = several ? without : [];
  const names = several && had.includes(name) && without.length ? without : [...rest, name].sort();
  return ofKind({ ...item, labels: { ...item.labels, [facet]: names } }, kind);
}

// The mark as one of a kind, with the labels that this has.
export function ofKind(item, kind) {
  const kept = kind.facets.map(({ name }) => name).filter((name) => item.labels[name]);
  return { ...item, kind: kind.name, labels: Object.fromEntries(kept.map((name) => [name, item.labels[name]])) };
}

// The mark once a key was pressed, null where the key says nothing. A number goes to the first
// facet with numbers that has no label yet, else to the first.
export function pressed(kinds, item, key) {
  const kind = kinds.find((one) => one.key === key);
  if (kind) return ofKind(item, kind);
  const own = kindOf(kinds, item);
  for (const one of [own, ...kinds]) {
    const fitting = one.facets.filter(({ labels }) => labels.some((label) => label.key === key));
    const facet = fitting.find(({ name }) => !item.labels[name]) ?? fitting[0];
    if (facet) return labelled(kinds, item, facet.name, facet.labels.find((label) => label.key === key).name);
  }
  return null;
}

export const allKeys = (kinds) => [...new Set(kinds.flatMap(({ key, facets }) =>
  [key, ...facets.flatMap(({ labels }) => labels.map((label) => label.key))]))].filter(Boolean);

// What a mark's tone and words are on its card.
export function shownAs(kinds, item) {
  const kind = kindOf(kinds, item);
  const labelsOf = ({ name, labels }) => labels.filter((label) => item.labels[name]?.includes(label.name));
  const grade = kind.facets.filter(({ name }) => name === kind.graded_by).flatMap(labelsOf)[0];
  return {
    tone: kind.graded_by ? grade?.tone ?? "mild" : "good",
    grade: grade?.label ?? kind.label,
    tags: kind.facets.filter(({ name }) => name !== kind.graded_by).flatMap(labelsOf).map(({ text }) => text),
  };
}
