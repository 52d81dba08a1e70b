// Saves readings one after the other. What the service has not taken yet stays in the browser, also
// when the page is closed, and is sent until it does.

import { ask } from "./load.js";
import { remember, remembered } from "./keys.js";

const LONGEST_WAIT = 15;

export class Saver {
  // `show` is told how it stands: saved, saving, waiting or refused, and why.
  constructor(run, reader, show) {
    Object.assign(this, { run, reader, show, running: false });
    this.key = `judge.unsaved ${run} ${reader}`;
    this.pending = new Map(kept(this.key));
    this.refused = new Set();
    window.addEventListener("online", () => this.wake?.());
    window.addEventListener("beforeunload", (event) => {
      if (this.pending.size && !remembered(this.key)) event.preventDefault();
    });
  }

  // The reading of a study that is not saved yet, if there is one.
  unsaved(studyId) {
    return this.pending.get(studyId) ?? null;
  }

  save(reading) {
    this.pending.delete(reading.study_id);
    this.pending.set(reading.study_id, reading);
    this.keep();
    this.wake?.();
    return this.flush();
  }

  keep() {
    remember(this.key, this.pending.size ? JSON.stringify([...this.pending]) : "");
  }

  async flush() {
    if (this.running) return;
    this.running = true;
    this.refused.clear();
    let [wait, why] = [1, null];
    for (let next = this.next(); next; next = this.next()) {
      if (wait === 1) this.show("saving");
      try {
        await this.send(next);
        if (this.pending.get(next.study_id) === next) this.pending.delete(next.study_id);
        this.keep();
        wait = 1;
      } catch (error) {
        if (error.status >= 400 && error.status < 500 && ![408, 425, 429].includes(error.status)) {
          this.refused.add(next);
          why = error.message;
        } else {
          this.show("waiting", error.message);
          await this.pause(wait);
          wait = Math.min(LONGEST_WAIT, 2 * wait);
        }
      }
    }
    this.running = false;
    this.show(this.refused.size ? "refused" : "saved", why);
  }

  next() {
    return [...this.pending.values()].find((reading) => !this.refused.has(reading));
  }

  // A wait that ends sooner where there is more to save, or the network is back.
  pause(seconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 1000 * seconds);
      this.wake = () => { clearTimeout(timer); resolve(); };
    }).finally(() => { this.wake = null; });
  }

  send(reading) {
    const body = { ...reading, reader: this.reader };
    return ask(`/v1/runs/${encodeURIComponent(this.run)}/readings`, { method: "POST", body });
  }
}

function kept(key) {
  try {
    return JSON.parse(remembered(key) || "[]");
  } catch {
    return [];
  }
}
