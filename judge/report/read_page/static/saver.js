// Saves readings one after the other. What the service has not taken yet stays in the browser, also
// when the page is closed, and is sent until it does.

import { ask } from "./load.js";
import { remember, remembered } from "./keys.js";

const LONGEST_WAIT = 15;

export class Saver {
  // `show` is told how it stands: saved, saving, waiting or refused, and why.
  constructor(run, reader, show) {
    Object.assign(this, { run, reader, show, isRunning: false, refused: new Set() });
    this.key = `judge.unsaved ${run} ${reader}`;
    this.pending = new Map(JSON.parse(remembered(this.key) || "[]"));
    window.addEventListener("online", () => this.wake?.());
    window.addEventListener("beforeunload", (event) => {
      if (this.pending.size && !remembered(this.key)) event.preventDefault();
    });
  }

  save(reading) {
    this.pending.set(reading.study_id, reading);
    this.#keep();
    this.wake?.();
    return this.flush();
  }

  #keep() {
    remember(this.key, this.pending.size ? JSON.stringify([...this.pending]) : "");
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
        if (this.pending.get(reading.study_id) === reading) this.pending.delete(reading.study_id);
        this.#keep();
        wait = 1;
      } catch (error) {
        why = error.message;
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
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 1000 * seconds);
      this.wake = () => { clearTimeout(timer); resolve(); };
    }).finally(() => { this.wake = null; });
  }
}
