// Saves readings one after the other. What the service has not taken yet stays in the browser, also
// when the page is closed, and is sent until it does.

import { ask } from "./load.js";
import { forget, remember, remembered, rememberedNames } from "./keys.js";

const KEPT = "judge.unsaved ";
const LONGEST_WAIT = 15;

export class Saver {
  run; reader; show;
  isRunning = false;
  refused = new Set();
  pending = new Map();

  // `show` is told how it stands: saved, saving, waiting or refused, and why.
  constructor(run, reader, show) {
    Object.assign(this, { run, reader, show });
    for (const name of rememberedNames().filter((key) => key.startsWith(KEPT))) {
      const reading = JSON.parse(remembered(name) || "{}");
      if (name === this.#keyOf(reading)) this.pending.set(reading.study_id, reading);
    }
    window.addEventListener("online", () => this.wake?.());
    window.addEventListener("beforeunload", (event) => {
      if ([...this.pending.values()].some((reading) => !remembered(this.#keyOf(reading)))) event.preventDefault();
    });
  }

  save(reading) {
    this.pending.set(reading.study_id, reading);
    remember(this.#keyOf(reading), JSON.stringify(reading));
    this.wake?.();
    return this.flush();
  }

  // Windows share what the browser keeps, so each study has a key of its own.
  #keyOf({ study_id: id }) {
    return KEPT + JSON.stringify([this.run, this.reader, id]);
  }

  // A reading waits no longer; a later one of its study, also of another window, still does.
  #forget(reading) {
    if (this.pending.get(reading.study_id) === reading) this.pending.delete(reading.study_id);
    const key = this.#keyOf(reading);
    if (remembered(key) === JSON.stringify(reading)) forget(key);
  }

  // Gives up a reading that is not saved.
  drop(reading) {
    this.#forget(reading);
    this.refused.delete(reading);
    return this.flush();
  }

  async flush() {
    if (this.isRunning) return;
    this.isRunning = true;
    this.refused.clear();
    const next = () => [...this.pending.values()].find((reading) => !this.refused.has(reading));
    let [wait, why] = [1, null];
    for (let reading = next(); reading; reading = next()) {
      if (wait === 1) this.show("saving");
      try {
        const body = { ...reading, reader: this.reader };
        await ask(`/v1/runs/${encodeURIComponent(this.run)}/readings`, { method: "POST", body });
        this.#forget(reading);
        wait = 1;
      } catch (error) {
        why = error.message;
        if (this.pending.get(reading.study_id) !== reading) continue;  // given up, or there is a later one
        if (error.status >= 400 && error.status < 500 && ![408, 425, 429].includes(error.status)) {
          this.refused.add(reading);
        } else {
          this.show("waiting", why);
          await this.#pause(wait);
          wait = Math.min(LONGEST_WAIT, 2 * wait);
        }
      }
    }
    this.isRunning = false;
    this.show(...(this.refused.size ? ["refused", why] : ["saved"]));
  }

  // A wait that ends sooner where there is more to save, or the network is back.
  #pause(seconds) {
    return /** @type {Promise<void>} */ (new Promise((resolve) => {
      const timer = setTimeout(resolve, 1000 * seconds);
      this.wake = () => { clearTimeout(timer); resolve(); };
    })).finally(() => { this.wake = null; });
  }
}
