// Who reads: asked once, then kept by the browser.

import { el } from "./dom.js";
import { remember, remembered } from "./keys.js";

const NAME = "judge.reader";

export class Reader {
  // `asking` is what the reader is asked, `kept` where the name is kept.
  constructor(given, asking, kept) {
    this.name = given || (remembered(NAME) ?? "");
    this.asking = asking;
    this.kept = kept;
    this.waiting = null;
  }

  async known() {
    if (this.name) return this.name;
    this.waiting ??= this.ask().finally(() => { this.waiting = null; });
    return this.waiting;
  }

  ask() {
    return new Promise((resolve) => {
      const field = el("input", { id: "reader-name", required: true, autocomplete: "name", maxlength: "100", value: this.name });
      const dialog = el("dialog", { "aria-labelledby": "reader-title" },
        el("form", { method: "dialog", on: { submit: () => { this.keep(field.value.trim()); } } },
          el("h2", { id: "reader-title" }, this.asking),
          el("p", {}, `Your name is stored with each ${this.kept}, and in this browser.`),
          el("label", { for: "reader-name" }, "Name"), field,
          el("p", {}, el("button", { class: "main" }, "Continue"))));
      dialog.addEventListener("close", () => { dialog.remove(); resolve(this.name); });
      document.body.append(dialog);
      dialog.showModal();
    });
  }

  keep(name) {
    this.name = name;
    remember(NAME, name);
    document.dispatchEvent(new CustomEvent("reader", { detail: name }));
  }
}
