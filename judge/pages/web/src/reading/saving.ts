// Sends readings to the service, one after the other, and keeps what it does not have yet.

import type { KeptReading, StudyReading } from "../api.ts";
import { ServiceError } from "../shared/service.ts";
import { Store } from "../shared/store.ts";
import type { Content } from "./marks.ts";

const CONFLICT = 409;

export interface Unsent {
  study_id: string;
  texts: string;
  content: Content;
  seconds: number | null;
}

// A study that was saved elsewhere since it was opened here.
export interface Conflict {
  mine: Unsent;
  theirs: KeptReading;
}

export interface SavingState {
  isSaved: boolean;
  // Why something is not saved; empty where all is.
  problem: string;
  conflicts: readonly Conflict[];
}

// The service, as a reader's page uses it.
export interface Keeper {
  keep: (reading: Omit<StudyReading, "reader">) => Promise<KeptReading>;
  kept: (studyId: string) => Promise<KeptReading | null>;
}

export class Saving extends Store<SavingState> {
  readonly #keeper: Keeper;
  readonly #unsent = new Map<string, Unsent>();
  // By study, the reading that the next one replaces.
  readonly #versions = new Map<string, string>();
  #sending: Promise<void> | null = null;

  constructor(keeper: Keeper) {
    super({ isSaved: false, problem: "", conflicts: [] });
    this.#keeper = keeper;
  }

  get hasUnsaved(): boolean {
    return this.#unsent.size > 0;
  }

  // What was said of a study and is not saved yet.
  unsentOf(studyId: string): Unsent | undefined {
    return this.#unsent.get(studyId);
  }

  // A study was loaded with this reading; what is not saved yet stays what comes next. Returns
  // whether it is another reading than the one that was known here.
  loaded(studyId: string, reading: KeptReading | null): boolean {
    if (this.#unsent.has(studyId)) return false;
    const known = this.#versions.get(studyId);
    const id = reading?.id ?? "";
    this.#versions.set(studyId, id);
    return known !== undefined && known !== id;
  }

  put(unsent: Unsent): void {
    const conflict = this.#conflictOf(unsent.study_id);
    if (conflict) {
      const others = this.state.conflicts.filter((other) => other !== conflict);
      this.update({ conflicts: [...others, { ...conflict, mine: unsent }] });
    }
    this.#unsent.set(unsent.study_id, unsent);
    void this.send();
  }

  // Sends all that can be sent, again after a failure; done when nothing is under way.
  send(): Promise<void> {
    // Later, so that it cannot have ended before it is known to be under way.
    this.#sending ??= Promise.resolve().then(() => this.#sendAll());
    return this.#sending;
  }

  // Ends a conflict: the next reading of the study replaces the one that was saved elsewhere.
  settle({ mine, theirs }: Conflict): void {
    const id = mine.study_id;
    this.#versions.set(id, theirs.id);
    this.#unsent.delete(id);
    this.update({ conflicts: this.state.conflicts.filter((other) => other.mine.study_id !== id) });
  }

  async #sendAll(): Promise<void> {
    let problem = "";
    for (let next = this.#next(); next !== undefined && problem === ""; next = this.#next()) {
      problem = await this.#sendOne(next);
    }
    this.#sending = null;
    this.update({ problem, isSaved: problem === "" && !this.hasUnsaved });
  }

  // The first that is not saved; one in conflict waits for the reader.
  #next(): Unsent | undefined {
    return [...this.#unsent.values()].find(({ study_id: id }) => !this.#conflictOf(id));
  }

  #conflictOf(studyId: string): Conflict | undefined {
    return this.state.conflicts.find(({ mine }) => mine.study_id === studyId);
  }

  // Returns why it could not be saved.
  async #sendOne(unsent: Unsent): Promise<string> {
    const { study_id: id, texts, content, seconds } = unsent;
    const replaces = this.#versions.get(id) ?? "";
    const { items, comment, done, cannot_judge } = content;
    try {
      const reading = {
        study_id: id,
        texts,
        items: [...items],
        comment,
        done,
        cannot_judge,
        seconds,
        replaces,
      };
      const kept = await this.#keeper.keep(reading);
      this.#versions.set(id, kept.id);
      if (this.#unsent.get(id) === unsent) this.#unsent.delete(id);
      return "";
    } catch (error) {
      return await this.#failed(error, unsent, replaces);
    }
  }

  async #failed(error: unknown, unsent: Unsent, replaces: string): Promise<string> {
    if (error instanceof ServiceError && error.status === CONFLICT) {
      try {
        const theirs = await this.#keeper.kept(unsent.study_id);
        if (theirs && theirs.id !== replaces) {
          const mine = this.#unsent.get(unsent.study_id) ?? unsent;
          this.update({ conflicts: [...this.state.conflicts, { mine, theirs }] });
          return "";
        }
      } catch (other) {
        return messageOf(other);
      }
    }
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
