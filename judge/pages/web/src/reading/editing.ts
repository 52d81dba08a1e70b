// One study that is read: what is said of it, the mark that is being made, and what is chosen. It
// knows no page: whoever draws it is told where the keyboard should be.

import type { FacetToLabel, KindToMark, LineOfReport, ReportToRead, RubricToRead } from "../api.ts";
import { Store } from "../shared/store.ts";
import {
  applyKey,
  errorKind,
  isComplete,
  isError,
  kindOf,
  labelled,
  ofKind,
  sameLine,
  wordsOf,
} from "./marks.ts";
import type { Content, Mark, Side } from "./marks.ts";
import { NO_CHOICE, rangeOf, wordsOfReport } from "./words.ts";
import type { Choice, Range, Words } from "./words.ts";

export const UNLABELLED = "Give the mark its labels first, or press Esc to cancel it.";

export type EditKind = "change" | "delete" | "insert";
export type Place = "reference" | "candidate" | `card-${number}`;

export interface EditingState {
  content: Content;
  // The mark that is being made.
  draft: Mark | null;
  // The words that are chosen, and in which report.
  range: (Range & { side: Side }) | null;
  choices: Record<Side, Choice>;
  // The place of the chosen mark, -1 for none.
  chosen: number;
  // The line of the candidate that the reader is at, and what is written there.
  line: number;
  writing: { kind: EditKind; text: string } | null;
  // Where the keyboard should be, and how often that was asked for.
  focus: { place: Place; number: number };
}

export interface Surroundings {
  // Called with each change; `what` says it to the reader.
  keep: (content: Content, before: Content, what: string) => void;
  announce: (text: string) => void;
  // The kinds that the reader has marked in other studies.
  hasMarked: (kind: string) => boolean;
}

export interface Reports {
  reference: ReportToRead;
  candidate: ReportToRead;
}

export class Editing extends Store<EditingState> {
  readonly rubric: RubricToRead;
  readonly texts: Record<Side, Words>;
  readonly lines: readonly LineOfReport[];
  // What is in the field for the comment, and perhaps not saved yet.
  comment: string;
  readonly #around: Surroundings;
  #isWarned = false;

  constructor(rubric: RubricToRead, reports: Reports, content: Content, around: Surroundings) {
    super({
      content,
      draft: null,
      range: null,
      choices: { reference: NO_CHOICE, candidate: NO_CHOICE },
      chosen: -1,
      line: 0,
      writing: null,
      focus: { place: "candidate", number: 1 },
    });
    this.rubric = rubric;
    this.texts = { reference: wordsOfReport(reports.reference), candidate: wordsOfReport(reports.candidate) };
    this.lines = reports.candidate.lines;
    this.comment = content.comment;
    this.#around = around;
  }

  // The mark that is being made, else the chosen one.
  get mark(): Mark | null {
    const { draft, content, chosen } = this.state;
    return draft ?? content.items[chosen] ?? null;
  }

  // The marks with the one that is being made in the place of what it replaces.
  get shown(): readonly Mark[] {
    const { draft, content } = this.state;
    if (!draft?.edit) return content.items;
    return [...content.items.filter((mark) => !sameLine(mark, draft)), draft];
  }

  focusOn(place: Place): void {
    this.update({ focus: { place, number: this.state.focus.number + 1 } });
  }

  // The content as it was before, or as it is elsewhere.
  replaceContent(content: Content): void {
    this.comment = content.comment;
    this.update({ content, ...CLEARED });
  }

  // Words are chosen; in a report that is not corrected by lines, they are the next mark.
  choose(side: Side, choice: Choice): void {
    const range = rangeOf(this.texts[side], choice);
    if (!range) return;
    const choices = { ...CLEARED.choices, [side]: choice };
    this.update({ choices, range: { ...range, side }, chosen: -1 });
    if (!this.rubric.has_edits) {
      const blank = { kind: errorKind(this.rubric).name, labels: {}, edit: null };
      this.update({ draft: { ...blank, ...this.state.draft, ...range, side } });
    }
    this.#around.announce(`${range.text}, in the ${side}`);
  }

  goToLine(line: number): void {
    this.update({ line: Math.min(this.lines.length, Math.max(0, line)) });
  }

  // Begins the correction of the line that the reader is at; false where there is none.
  begin(kind: EditKind): boolean {
    const { line } = this.state;
    if (!this.rubric.has_edits) return false;
    const text = this.lines[line]?.text;
    if (kind === "insert") this.update({ writing: { kind, text: this.#chosenSentence() } });
    else if (text === undefined) return false;
    else if (kind === "change") this.update({ writing: { kind, text: this.#corrected(line) ?? text } });
    else this.#correct("delete", "");
    return true;
  }

  // Takes what was written, or nothing.
  write(text: string | null): void {
    const { writing } = this.state;
    this.update({ writing: null });
    this.focusOn("candidate");
    const corrected = text?.trim().replace(/\s+/g, " ") ?? "";
    if (writing && corrected) this.#correct(writing.kind, corrected);
  }

  // Applies a key of the rubric; false where there is nothing to label.
  press(key: string): boolean {
    const mark = this.mark;
    const changed = mark && applyKey(this.rubric, mark, key);
    if (!changed) return false;
    this.#commit(changed);
    return true;
  }

  give(facet: FacetToLabel, label: string): void {
    if (this.mark) this.#commit(labelled(this.rubric, this.mark, facet, label));
  }

  turnInto(kind: KindToMark): void {
    if (this.mark) this.#commit(ofKind(this.mark, kind));
  }

  chooseMark(at: number, isFocused = false): void {
    if (at !== this.state.chosen) this.update({ ...CLEARED, chosen: at });
    if (isFocused) this.focusOn(`card-${at}`);
  }

  // To the next mark, or the one before.
  step(by: number): boolean {
    const { content, chosen } = this.state;
    const last = content.items.length - 1;
    if (last < 0) return false;
    this.chooseMark(chosen < 0 ? 0 : Math.min(last, Math.max(0, chosen + by)), true);
    return true;
  }

  remove(at = this.state.chosen): boolean {
    if (at < 0) return false;
    this.update(CLEARED);
    this.#keep({ items: this.state.content.items.toSpliced(at, 1) }, `mark ${at + 1} deleted`);
    this.focusOn("candidate");
    return true;
  }

  // Forgets what is chosen and the mark that is being made; false where there is neither.
  cancel(): boolean {
    const { draft, range, chosen } = this.state;
    this.update(CLEARED);
    return draft !== null || range !== null || chosen >= 0;
  }

  keepComment(): void {
    if (this.comment !== this.state.content.comment) this.#keep({ comment: this.comment }, "comment");
  }

  // Saves the comment, and returns why the study cannot be left yet; empty where it can.
  leave(): string {
    this.keepComment();
    return this.state.draft ? UNLABELLED : "";
  }

  // Ends the study, with `hasErrors` false as one without errors; returns why it cannot be ended yet.
  finish(hasErrors: boolean): string {
    const wrong = this.leave() || this.#wrongEnd(hasErrors);
    const { done, cannot_judge: why } = this.state.content;
    if (wrong === "" && (!done || why !== "")) {
      this.#keep({ done: true, cannot_judge: "" }, hasErrors ? "done" : "done, no errors");
    }
    return wrong;
  }

  // Ends the study without a judgement, for a reason; with none it is to be judged after all.
  cannotJudge(why: string): void {
    this.#keep({ done: why !== "", cannot_judge: why }, why ? "cannot be judged" : "to be judged after all");
    this.focusOn("candidate");
  }

  #wrongEnd(hasErrors: boolean): string {
    const { items, done } = this.state.content;
    if (!hasErrors && items.some((mark) => isError(this.rubric, mark))) return this.rubric.has_marks;
    // Without a mark of what matches, where other studies have one, it would say that nothing matches.
    const forgotten = this.rubric.kinds.find(
      ({ name, forgotten: question }) =>
        question !== "" && this.#around.hasMarked(name) && !items.some(({ kind }) => kind === name),
    );
    if (!forgotten || done || this.#isWarned) return "";
    this.#isWarned = true;
    return forgotten.forgotten;
  }

  #keep(changes: Partial<Content>, what: string): void {
    const before = this.state.content;
    const content = { ...before, ...changes };
    this.update({ content });
    this.#around.keep(content, before, what);
  }

  // How a line is corrected so far.
  #corrected(line: number): string | null {
    const mark = this.state.content.items.find(({ edit }) => edit?.kind === "change" && edit.line === line);
    return mark?.edit?.corrected ?? null;
  }

  // The words chosen in the reference, with the stop after them.
  #chosenSentence(): string {
    const { range } = this.state;
    if (!range) return "";
    const stop = this.texts.reference.points[range.end] ?? "";
    return range.text + (stop !== "" && ".!?".includes(stop) ? stop : "");
  }

  #correct(kind: EditKind, corrected: string): void {
    const { line: at, range, content } = this.state;
    const line = this.lines[at];
    if (kind === "change" && corrected === line?.text) return;
    let place: Pick<Mark, "side" | "start" | "end" | "text"> = {
      side: null,
      start: null,
      end: null,
      text: "",
    };
    if (kind !== "insert" && line)
      place = { side: "candidate", start: line.start, end: line.end, text: line.text };
    else if (range) place = { side: range.side, start: range.start, end: range.end, text: range.text };
    const edit = { kind, line: line ? at : null, corrected };
    const draft: Mark = { kind: errorKind(this.rubric).name, labels: {}, ...place, edit };
    this.update({ draft, chosen: -1 });
    const replaced = content.items.find((mark) => sameLine(mark, draft));
    if (replaced) this.#commit({ ...draft, labels: replaced.labels });
  }

  // Takes a mark with its labels: the one that is being made, once it is complete, or the chosen one.
  #commit(mark: Mark): void {
    const { content, draft, chosen, range, choices } = this.state;
    if (!draft) {
      this.#keep({ items: content.items.with(chosen, mark) }, `mark ${chosen + 1} changed`);
      this.focusOn(`card-${chosen}`);
      return;
    }
    if (!isComplete(this.rubric, mark)) {
      this.update({ draft: mark });
      return;
    }
    const others = content.items.filter((other) => !sameLine(other, mark));
    const side = range?.side ?? "candidate";
    const resting = { ...choices, [side]: { ...choices[side], isResting: true } };
    this.update({ draft: null, range: null, choices: resting });
    const { label, title } = kindOf(this.rubric, mark);
    this.#keep({ items: [...others, mark] }, `${label} marked`);
    this.#around.announce(`${title} marked: ${wordsOf(mark)}`);
    this.focusOn(this.rubric.has_edits ? "candidate" : side);
  }
}

const CLEARED = {
  draft: null,
  range: null,
  chosen: -1,
  writing: null,
  choices: { reference: NO_CHOICE, candidate: NO_CHOICE },
};
