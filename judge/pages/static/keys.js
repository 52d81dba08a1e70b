// The keyboard: everything that a reader does on a study, without the mouse.

import { el } from "./dom.js";

const OFF = "judge.keys-off";

// What the browser keeps from one page to the next, if it keeps anything.
export function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Then it holds for this page alone.
  }
}

export function forget(name) {
  try {
    localStorage.removeItem(name);
  } catch {
    // Then it keeps nothing.
  }
}

export function rememberedNames() {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

export class Keys {
  // Each of `actions` has its `keys`, what they do as `text`, and `act`, which may return false
  // when it does not apply.
  constructor(actions) {
    this.actions = actions;
    this.off = remembered(OFF) === "yes";
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.closest?.("input, textarea, select");
    if ((typing || this.off) && event.key !== "Escape") return;
    if (typing) {
      typing.blur();
      event.preventDefault();
      return;
    }
    const isDone = this.actions.some(({ keys, act }) => keys.split(" ").includes(event.key) && act() !== false);
    if (isDone) event.preventDefault();
  }

  help() {
    const names = { Escape: "Esc", ArrowDown: "↓", ArrowUp: "↑" };
    const box = el("input", { type: "checkbox", id: "keys-off", checked: this.off, on: { change: () => this.keep(box.checked) } });
    const dialog = el("dialog", { "aria-labelledby": "keys-title", class: "help" },
      el("h2", { id: "keys-title" }, "Keys"),
      el("dl", {}, this.actions.map(({ keys, text }) => el("div", {},
        el("dt", {}, keys.split(" ").flatMap((key, at) => [at ? " or " : "", el("kbd", {}, names[key] ?? key)])),
        el("dd", {}, text)))),
      el("p", {}, box, el("label", { for: "keys-off" }, " switch single keys off")),
      el("form", { method: "dialog" }, el("button", { class: "main", autofocus: true }, "Close")));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  keep(off) {
    this.off = off;
    remember(OFF, off ? "yes" : "no");
  }
}
