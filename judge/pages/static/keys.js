// The keyboard, what the browser remembers from one page to the next, and the reader's name.

import { el, find } from "./dom.js";

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
export const forget = (name) => tryStorage((storage) => storage.removeItem(name));
export const rememberedNames = () => tryStorage((storage) => Object.keys(storage)) ?? [];

/**
 * @typedef {object} Action
 * @property {string} keys
 * @property {string} text
 * @property {() => any} act returns false where it does not apply
 */

export class Keys {
  constructor(actions) {
    this.actions = actions;
    this.off = remembered(OFF) === "yes";
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (find("dialog[open]")) return;
    const field = event.target.closest?.("input, textarea, select");
    if ((field || this.off) && event.key !== "Escape") return;
    if (field) {
      field.blur();
      event.preventDefault();
      return;
    }
    const isDone = this.actions.some(({ keys, act }) => keys.split(" ").includes(event.key) && act() !== false);
    if (isDone) event.preventDefault();
  }

  help() {
    const names = { Escape: "Esc", ArrowDown: "↓", ArrowUp: "↑" };
    const change = ({ target }) => {
      this.off = target.checked;
      remember(OFF, this.off ? "yes" : "no");
    };
    showDialog("keys-title", "Keys", [
      el("dl", {}, this.actions.map(({ keys, text }) => el("div", {},
        el("dt", {}, keys.split(" ").flatMap((key, at) => [at ? " or " : "", el("kbd", {}, names[key] ?? key)])),
        el("dd", {}, text)))),
      el("p", {}, el("input", { type: "checkbox", id: "keys-off", checked: this.off, on: { change } }),
        el("label", { for: "keys-off" }, " switch single keys off")),
    ], "Close");
  }
}

/** @param {string} id @param {string} title @param {any} content @param {string | null} done the button, null where the content has it @param {Object<string, any>} [properties] of the form @param {() => void} [closed] */
export function showDialog(id, title, content, done, properties = {}, closed = () => {}) {
  const dialog = el("dialog", { "aria-labelledby": id, class: "help" },
    el("form", { method: "dialog", ...properties }, el("h2", { id }, title), content,
      done && el("p", {}, el("button", { class: "main", autofocus: done === "Close" }, done))));
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
      showDialog("reader-title", this.title, [
        el("p", {}, `Your name is stored with each ${this.record}, and in this browser.`),
        el("label", { for: "reader-name" }, "Name"), field,
      ], "Continue", { on: { submit: () => this.keep(field.value.trim()) } }, () => resolve(this.name));
    });
  }

  keep(name) {
    this.name = name;
    remember(NAME, name);
    document.dispatchEvent(new CustomEvent("reader", { detail: name }));
  }
}
