// The keyboard, what the browser remembers from one page to the next, and the reader's name.

import { button, el, factList, find } from "./dom.js";

const OFF = "judge.keys-off";
const NAME = "judge.reader";

// A browser may refuse to remember anything: then all holds for this page alone.
function tryStorage(act) {
  try {
    return act(localStorage);
  } catch {
    return null;
  }
}

export const remembered = (name) => tryStorage((storage) => storage.getItem(name));
export const remember = (name, value) => tryStorage((storage) => storage.setItem(name, value));

// Single keys that act outside of fields; `act` returns false where it does not apply.
export class Keys {
  /** @param {{ key: string, text: string, act: () => any }[]} actions */
  constructor(actions) {
    this.actions = actions;
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || find("dialog[open]")) return;
    const field = event.target.closest?.("input, textarea, select");
    if ((field || remembered(OFF) === "yes") && event.key !== "Escape") return;
    if (field) {
      field.blur();
      event.preventDefault();
      return;
    }
    if (event.key === "?") this.help();
    else if (this.actions.some(({ key, act }) => key === event.key && act() !== false)) event.preventDefault();
  }

  // The button that shows all keys.
  button() {
    return button("Keys", () => this.help(), { class: "quiet", "aria-keyshortcuts": "?" });
  }

  help() {
    const change = ({ target }) => remember(OFF, target.checked ? "yes" : "no");
    showDialog("Keys", [
      factList(this.actions.map(({ key, text }) => [key === "Escape" ? "Esc" : key, text])),
      el("p", {}, el("input", { type: "checkbox", id: "keys-off", checked: remembered(OFF) === "yes", on: { change } }),
        el("label", { for: "keys-off" }, " switch single keys off")),
    ], "Close");
  }
}

// Asks for something, or shows it; `submit` is called before the dialog is gone, `closed` after.
export function showDialog(title, content, done, submit = () => {}, closed = () => {}) {
  const dialog = el("dialog", { "aria-labelledby": "dialog-title" },
    el("form", { method: "dialog", on: { submit } }, el("h2", { id: "dialog-title" }, title), content,
      el("p", { class: "tools" }, el("button", { class: "main" }, done),
        done === "Close" ? null : button("Cancel", () => dialog.close()))));
  dialog.addEventListener("close", () => { dialog.remove(); closed(); });
  document.body.append(dialog);
  dialog.showModal();
}

// The reader's name, asked for once and then remembered by the browser.
export class Reader {
  constructor(name, title, record) {
    this.name = name || (remembered(NAME) ?? "");
    this.title = title;
    this.record = record;
  }

  async known() {
    return this.name || this.ask();
  }

  ask() {
    return new Promise((resolve) => {
      const keep = () => {
        this.name = field.value.trim();
        remember(NAME, this.name);
        document.dispatchEvent(new Event("reader"));
      };
      const field = el("input", { id: "reader-name", required: true, autocomplete: "name", maxlength: "100", value: this.name });
      showDialog(this.title, [
        el("p", {}, `Your name is stored with each ${this.record}, and in this browser.`),
        el("label", { for: "reader-name" }, "Name"), field,
      ], "Continue", keep, () => resolve(this.name));
    });
  }
}
