// What the service says of two rubrics, shortened: words that are marked, and lines that are corrected.

import type {
  FacetToLabel,
  LabelToGive,
  QueueEntry,
  ReadingQueue,
  RubricToRead,
  StudyToRead,
} from "../src/api.ts";

function label(name: string, key: string | null, more: Partial<LabelToGive> = {}): LabelToGive {
  return {
    name,
    label: name,
    text: `(${name})`,
    button: name,
    key,
    tone: null,
    modality: null,
    definition: [],
    ...more,
  };
}

function facet(name: string, labels: LabelToGive[], has_several = false): FacetToLabel {
  return { name, title: name, has_several, definition: [], labels };
}

const error = {
  name: "error",
  label: "error",
  title: "Error",
  key: null,
  facets: ["category", "level"],
  graded_by: "level",
  definition: [],
  forgotten: "",
};
const matched = {
  name: "matched",
  label: "matched finding",
  title: "Matched finding",
  key: "m",
  facets: [],
  graded_by: null,
  definition: [],
  forgotten: "No matched finding is marked here.",
};
const levels = facet("level", [label("high", "1", { tone: "serious" }), label("low", "2", { tone: "mild" })]);

export const WORDS: RubricToRead = {
  title: "Words",
  summary: "",
  has_edits: false,
  guidelines: [],
  notes: [],
  kinds: [error, matched],
  facets: [facet("category", [label("a", "a"), label("b", "b")]), levels],
  has_marks: "Errors are marked.",
};
export const LINES: RubricToRead = {
  ...WORDS,
  title: "Lines",
  has_edits: true,
  kinds: [error],
  facets: [facet("category", [label("a", "a"), label("b", "b")], true), levels],
};

export function report(...lines: string[]) {
  let start = 0;
  const placed = lines.map((text) => {
    const line = { start, end: start + [...text].length, text };
    start = line.end + 1;
    return line;
  });
  return { text: lines.join(" "), lines: placed };
}

export const REPORTS = {
  reference: report("No effusion.", "A 12 mm nodule."),
  candidate: report("Small effusion.", "Clear lungs."),
};

export function study(id: string): StudyToRead {
  return { study_id: id, texts: `texts of ${id}`, modality: null, context: [], ...REPORTS, reading: null };
}

export function queueOf(rubric: RubricToRead, ...ids: string[]): ReadingQueue {
  const queue: QueueEntry[] = ids.map((study_id) => ({ study_id, state: "new" }));
  return {
    rubric,
    keys: [],
    queue,
    nothing_to_read: "",
    marked: [],
    practice: [{ context: [], ...REPORTS }],
  };
}
