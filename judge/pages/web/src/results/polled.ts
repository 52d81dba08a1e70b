// An answer of the service that is asked for again while it may change.

import { alarm, dismissAlarm } from "../shared/page.tsx";
import { Latest } from "../shared/service.ts";
import { Store } from "../shared/store.ts";

export interface Changing {
  // Seconds; null where nothing is under way.
  look_again_after: number | null;
}

// After a failure it is asked for again after so many seconds.
const AFTER_FAILURE = 2;

export class Polled<Answer extends Changing> extends Store<Answer> {
  readonly #load: () => Promise<Answer>;
  readonly #latest = new Latest();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasFailed = false;
  #hasEnded = false;

  constructor(first: Answer, load: () => Promise<Answer>) {
    super(first);
    this.#load = load;
    this.#lookAgainAfter(first.look_again_after);
  }

  // Asks now. A failure is shown until an answer comes, once.
  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    let seconds: number | null = AFTER_FAILURE;
    try {
      const answer = await this.#latest.only(this.#load());
      if (answer === null) return;
      if (this.#hasFailed) dismissAlarm();
      this.#hasFailed = false;
      seconds = answer.look_again_after;
      this.set(answer);
    } catch (error) {
      if (!this.#hasFailed) alarm(error);
      this.#hasFailed = true;
    }
    this.#lookAgainAfter(seconds);
  }

  // Asks no more.
  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  #lookAgainAfter(seconds: number | null): void {
    if (seconds === null || this.#hasEnded) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.refresh(), 1000 * seconds);
  }
}
