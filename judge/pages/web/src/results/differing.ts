// Which errors of a pair are shown: those of a kind and a category.

import type { DifferenceKind, DifferingStudy } from "../api.ts";

export const ALL = -1;
// All kinds but that which is no difference.
export const DIFFERING = -2;

// The places of a kind and of a category, or one of the above.
export interface Wanted {
  kind: number;
  category: number;
}

// The studies with such an error, in their order, each with these errors alone.
export function shownStudies(
  studies: readonly DifferingStudy[], kinds: readonly DifferenceKind[], { kind, category }: Wanted,
): DifferingStudy[] {
  const isKind = (at: number) => {
    if (kind === ALL) return true;
    if (kind === DIFFERING) return kinds[at]?.is_difference ?? false;
    return at === kind;
  };
  const shown = [];
  for (const study of studies) {
    const errors = study.errors.filter((error) => (
      isKind(error.kind) && (category === ALL || error.categories.includes(category))
    ));
    if (errors.length) shown.push({ ...study, errors });
  }
  return shown;
}
