// A reader's way through the studies: practice, the queue, what is undone, and how long each study
// was in view. It asks the service for nothing that a judge or another reader said.

import type {
  KeptReading,
  PracticeFeedback,
  PracticeToRead,
  QueueEntry,
  ReadingQueue,
  StudyToRead,
} from "../api.ts";
import { Latest, ask } from "../shared/service.ts";
import { Store } from "../shared/store.ts";
import { Editing } from "./editing.ts";
import { NOTHING_SAID, merged } from "./marks.ts";
import type { Content } from "./marks.ts";
import { Saving } from "./saving.ts";
import type { Conflict } from "./saving.ts";

// Read is the queue at its end; left, the reader has gone.
export type Phase = "practice" | "reading" | "read" | "left";

export interface SessionState {
  phase: Phase;
  // The place in the queue, or among the practice studies.
  at: number;
  queue: readonly QueueEntry[];
  study: StudyToRead | PracticeToRead | null;
  editing: Editing | null;
  feedback: PracticeFeedback | null;
  // What undo would take back; empty for nothing.
  undoable: string;
}

// What is read: `texts` is null for a practice study, of which nothing is saved.
interface Subject {
  studyId: string;
  // The place in the queue, or among the practice studies.
  at: number;
  texts: string | null;
}

interface Change {
  studyId: string;
  // The place of its study.
  at: number;
  before: Content;
  what: string;
}

export interface SessionOptions {
  // The address of the run, below which the service has its reading.
  base: string;
  reader: string;
  announce: (text: string) => void;
  // Milliseconds from some moment on.
  now: () => number;
}

export class Session extends Store<SessionState> {
  readonly data: ReadingQueue;
  readonly saving: Saving;
  readonly #options: SessionOptions;
  readonly #opening = new Latest();
  readonly #marked: Set<string>;
  readonly #seconds = new Map<string, number | null>();
  #past: Change[] = [];
  #ended = "";
  #looked: number;
  #isSeen = true;

  constructor(data: ReadingQueue, options: SessionOptions) {
    super({
      phase: "reading",
      at: -1,
      queue: data.queue ?? [],
      study: null,
      editing: null,
      feedback: null,
      undoable: "",
    });
    this.data = data;
    this.#options = options;
    this.#marked = new Set(data.marked);
    this.#looked = options.now();
    this.saving = new Saving({
      keep: (reading) => this.#ask<KeptReading>("readings", { ...reading, reader: options.reader }),
      kept: async (studyId) => (await this.#study(studyId)).reading,
    });
  }

  get reader(): string {
    return this.#options.reader;
  }

  get isNew(): boolean {
    return this.state.queue.every(({ state }) => state === "new");
  }

  #ask<Answer>(name: string, body: object): Promise<Answer> {
    return ask<Answer>(`${this.#options.base}/${name}`, { method: "POST", body });
  }

  #study(id: string): Promise<StudyToRead> {
    return ask<StudyToRead>(`${this.#options.base}/reading/study`, {
      query: { reader: this.#options.reader, id },
    });
  }

  // The first study after a place that is not done, else the first of all, else -1.
  unfinished(after: number): number {
    const isOpen = ({ state }: QueueEntry) => state === "new" || state === "begun";
    const { queue } = this.state;
    const later = queue.findIndex((entry, place) => place > after && isOpen(entry));
    return later >= 0 ? later : queue.findIndex(isOpen);
  }

  // Opens a study of the queue; at a place that it does not have, all is read.
  async open(at: number): Promise<void> {
    this.look();
    const entry = this.state.queue[at];
    if (!entry) {
      this.#opening.drop();
      this.update({ phase: "read", at: this.state.queue.length, study: null, editing: null, feedback: null });
      if (this.#ended) this.#options.announce(this.#ended);
      this.#ended = "";
      return;
    }
    const { study_id: id } = entry;
    const study = await this.#opening.only(this.#loaded(id));
    if (!study) return;
    // A change that another tab has saved since is not undone with one of this tab.
    if (this.saving.loaded(id, study.reading)) {
      this.#past = this.#past.filter(({ studyId }) => studyId !== id);
    }
    const content = this.saving.unsentOf(id)?.content ?? study.reading ?? NOTHING_SAID;
    if (!this.#seconds.has(id)) this.#seconds.set(id, study.reading ? study.reading.seconds : 0);
    const editing = this.#editing(study, content, { studyId: id, at, texts: study.texts });
    // Until now the study before was in view.
    this.look();
    this.update({ phase: "reading", at, study, feedback: null, editing, undoable: this.#past.at(-1)?.what ?? "" });
    // What ended the study before is said with it: the later of two announcements is the one heard.
    this.#options.announce(`${this.#ended}Study ${at + 1} of ${this.state.queue.length}`);
    this.#ended = "";
  }

  async #loaded(id: string): Promise<StudyToRead> {
    // A save that is under way would make what is loaded now an earlier reading.
    if (this.saving.unsentOf(id)) await this.saving.send();
    return this.#study(id);
  }

  openPractice(at: number): void {
    this.#opening.drop();
    this.look();
    const study = this.data.practice[at];
    if (!study) return;
    this.#forget();
    this.update({
      phase: "practice",
      at,
      study,
      feedback: null,
      editing: this.#editing(study, NOTHING_SAID, { studyId: "", at, texts: null }),
    });
  }

  async endPractice(): Promise<void> {
    this.#forget();
    await this.open(this.unfinished(-1));
  }

  // What is expected in the practice study, beside the marks.
  async check(): Promise<void> {
    const { at, editing } = this.state;
    if (!editing) return;
    const marks = { number: at, items: editing.state.content.items };
    const feedback = await this.#ask<PracticeFeedback>("reading/practice", marks);
    if (this.state.editing === editing) this.update({ feedback });
  }

  // Whether the study in view may be left; otherwise why not.
  leaveStudy(): string {
    return this.state.editing?.leave() ?? "";
  }

  // Ends the page; a last look at the time, and what is unsaved is sent.
  leave(): void {
    this.#opening.drop();
    this.look();
    this.update({ phase: "left", study: null, editing: null, feedback: null });
    void this.saving.send();
  }

  // Takes the last change back, also of a study that is not in view any more.
  async undo(): Promise<void> {
    if (this.state.editing?.state.draft) {
      this.state.editing.cancel();
      return;
    }
    const change = this.#past.at(-1);
    if (!change) {
      this.#options.announce("There is nothing to undo");
      return;
    }
    // Neither a study that is on its way, nor what it was to say of the one before.
    this.#opening.drop();
    this.#ended = "";
    const isElsewhere = () => this.state.phase !== "practice" && this.#studyId !== change.studyId;
    if (isElsewhere()) await this.open(change.at);
    if (isElsewhere()) return;
    if (this.#past.at(-1) !== change) {
      this.#options.announce("Not undone: the study was saved elsewhere since");
      return;
    }
    this.#past.pop();
    this.update({ undoable: this.#past.at(-1)?.what ?? "" });
    this.state.editing?.replaceContent(change.before);
    const { study } = this.state;
    const texts = study && "texts" in study ? study.texts : null;
    this.#save({ studyId: change.studyId, at: change.at, texts }, change.before);
    this.#options.announce(`Undone: ${change.what}`);
  }

  // Ends a conflict with the version that was saved elsewhere, or with both in one.
  async resolve(conflict: Conflict, isBoth: boolean): Promise<void> {
    const { mine, theirs } = conflict;
    const id = mine.study_id;
    const at = this.state.queue.findIndex((entry) => entry.study_id === id);
    this.saving.settle(conflict);
    // What is given up can be had back by undo.
    const before = mine.content;
    const content = isBoth ? merged(theirs, before) : theirs;
    this.#remember({
      studyId: id,
      at,
      before,
      what: isBoth ? "both versions kept" : "the other version loaded",
    });
    this.#setState(id, content);
    if (isBoth) this.saving.put({ ...mine, content });
    await this.open(at);
  }

  // Adds the time since the last look to the study in view; time in a hidden tab does not count.
  look(isHidden = false): void {
    const now = this.#options.now();
    const id = this.#studyId;
    const before = id === null ? null : (this.#seconds.get(id) ?? null);
    if (id !== null && before !== null && this.#isSeen)
      this.#seconds.set(id, before + (now - this.#looked) / 1000);
    this.#looked = now;
    this.#isSeen = !isHidden;
  }

  // The study of the queue that is in view.
  get #studyId(): string | null {
    const { phase, at, queue, editing } = this.state;
    return phase === "reading" && editing ? (queue[at]?.study_id ?? null) : null;
  }

  #editing(study: StudyToRead | PracticeToRead, content: Content, of: Subject): Editing {
    const { items, comment, done, cannot_judge } = content;
    return new Editing(
      this.data.rubric,
      study,
      { items, comment, done, cannot_judge },
      {
        announce: this.#options.announce,
        hasMarked: (kind) => this.#marked.has(kind),
        keep: (changed, before, what) => this.#changed(of, changed, before, what),
      },
    );
  }

  // Each change is saved at once, and can be undone. Another study may be in view by then.
  #changed(of: Subject, content: Content, before: Content, what: string): void {
    const { studyId, at } = of;
    const isPractice = of.texts === null;
    const place = isPractice ? "practice" : `study ${at + 1}`;
    this.#remember({ studyId, at, before, what: `${place}: ${what}` });
    this.#options.announce(`${what}. Undo takes it back.`);
    if (content.done && !before.done) this.#ended = `${place}: ${what}. Undo takes it back. `;
    for (const { kind } of isPractice ? [] : content.items) this.#marked.add(kind);
    this.#save(of, content);
  }

  #remember(change: Change): void {
    this.#past.push(change);
    this.update({ undoable: change.what });
  }

  #forget(): void {
    this.#past = [];
    this.update({ undoable: "" });
  }

  #save({ studyId, texts }: Subject, content: Content): void {
    if (texts === null) return;
    this.look();
    const seconds = this.#seconds.get(studyId) ?? null;
    this.#setState(studyId, content);
    const rounded = seconds === null ? null : Math.round(10 * seconds) / 10;
    this.saving.put({ study_id: studyId, texts, content, seconds: rounded });
  }

  #setState(studyId: string, { done, cannot_judge: why }: Content): void {
    const ended = why ? "not judged" : "done";
    const state = done ? ended : "begun";
    const at = this.state.queue.findIndex((entry) => entry.study_id === studyId);
    if (at < 0 || this.state.queue[at]?.state === state) return;
    const queue = this.state.queue.with(at, { study_id: studyId, state });
    this.update({ queue });
  }
}
