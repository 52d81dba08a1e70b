// Two practice studies with known errors, and how a reader's marks compare with what was expected.
// They exist on this page only: no mark made in them is sent.

import { el, isolated } from "./dom.js";
import { kindOf, shownAs } from "./marks.js";
import { count } from "./format.js";

const STUDIES = [
  {
    indication: "Shortness of breath.",
    reference: ["The heart is normal in size.", "There is a moderate right pleural effusion.", "No pneumothorax."],
    candidate: ["The heart is not enlarged.", "There is a moderate left pleural effusion.", "Small left apical pneumothorax."],
    errors: [
      {
        name: "the side of the effusion", side: "candidate", words: "left pleural effusion", edit: ["change", 1],
        labels: { category: ["c"], significance: ["significant"], severity: ["severity2", "severity3"] },
        why: "The effusion is on the right. The finding is there, so this is one wrong location, and neither a false nor a missing finding.",
      },
      {
        name: "the pneumothorax", side: "candidate", words: "Small left apical pneumothorax", edit: ["change", 2],
        labels: { category: ["a"], significance: ["significant"], severity: ["severity3", "severity4"] },
        why: "The reference rules it out. A pneumothorax that is not there would be acted on at once.",
      },
    ],
    lesson: "“Not enlarged” and “normal in size” say the same: other words are no error.",
  },
  {
    indication: "Cough, follow-up.",
    reference: ["A 12 mm nodule is in the right upper lobe.", "The lungs are otherwise clear.", "No pleural effusion."],
    candidate: ["The lungs are clear.", "No pleural effusion.", "Heart size is unchanged since the prior study."],
    errors: [
      {
        name: "the nodule", side: "reference", words: "A 12 mm nodule is in the right upper lobe", edit: ["insert", 0],
        labels: { category: ["b"], significance: ["significant"], severity: ["severity2", "severity3"] },
        why: "The candidate does not mention it. What is missing is marked in the reference, or put in as a line.",
      },
      {
        name: "the comparison", side: "candidate", words: "unchanged since the prior study", edit: ["change", 2],
        labels: { category: ["e"], significance: ["insignificant"], severity: ["severity1"] },
        why: "The reference compares with no prior study. Nobody would act on it, so it is the lowest level.",
      },
    ],
    lesson: "“The lungs are clear” leaves out the nodule: that is the missing finding and not a second error.",
  },
];

export const N_PRACTICE = STUDIES.length;

export function practiceStudy(at) {
  const { indication, reference, candidate } = STUDIES[at];
  return {
    study_id: `practice ${at + 1}`, context: [{ name: "indication", value: indication }],
    reference: report(reference), candidate: report(candidate), texts: "", reading: null,
  };
}

function report(sentences) {
  let start = 0;
  const lines = sentences.map((text) => {
    const line = { start, end: start + text.length, text };
    start = line.end + 1;
    return line;
  });
  return { text: sentences.join(" "), lines };
}

// What was expected in a practice study, beside the marks of the reader.
export function feedback(at, items, kinds) {
  const { errors, lesson } = STUDIES[at];
  const study = practiceStudy(at);
  const marks = items.filter((item) => kindOf(kinds, item).graded_by);
  const markOf = errors.map((error) => marks.find((item) => isOf(item, error, study)));
  const other = marks.filter((item) => !markOf.includes(item));
  return el("section", { class: "feedback", "aria-labelledby": "feedback-title" },
    el("h3", { id: "feedback-title", tabindex: "-1" },
      `${markOf.filter(Boolean).length} of ${count(errors.length, "expected error")} found`),
    el("ul", {}, errors.map((error, place) => {
      const mark = markOf[place];
      const differing = mark ? labelsOf(error, kinds).filter(({ name, values }) => !mark.labels[name]?.some((value) => values.includes(value))) : [];
      const verdict = !mark ? "Not marked" : differing.length ? "Found, with other labels" : "Found";
      return el("li", { class: mark && !differing.length ? "right" : "differs" },
        el("strong", {}, `${verdict}: `), `${error.name}. `,
        mark && !differing.length ? null : `Expected: ${labelsOf(error, kinds).map(({ text }) => text).join(", ")}. `, error.why);
    }),
    other.map((item) => el("li", { class: "differs" }, el("strong", {}, "Not expected: "),
      isolated(item.text || item.edit?.corrected || "the deleted line"), `, ${[shownAs(kinds, item).grade, ...shownAs(kinds, item).tags].join(", ")}.`)),
    el("li", {}, lesson)));
}

// Whether a mark is about an expected error: words that overlap, or a correction of its line.
function isOf({ side, start, end, edit }, error, study) {
  if (edit) return edit.kind === "insert" ? error.edit[0] === "insert" : error.edit[0] !== "insert" && edit.line === error.edit[1];
  const first = study[error.side].text.indexOf(error.words);
  return side === error.side && start < first + error.words.length && end > first;
}

// The labels of an expected error that the rubric has, the first of each facet in words.
function labelsOf(error, kinds) {
  return kinds[0].facets.flatMap(({ name, labels }) => {
    const values = (error.labels[name] ?? []).filter((value) => labels.some((label) => label.name === value));
    return values.length ? [{ name, values, text: labels.find((label) => label.name === values[0]).label }] : [];
  });
}
