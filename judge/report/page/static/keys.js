// The keyboard: everything that a reader does on a study, without the mouse.

import { el } from "./dom.js";

const OFF = "judge.keys-off";

function isOff() {
  try {
    return localStorage.getItem(OFF) === "yes";
  } catch {
    return false;
  }
}

export class Keys {
  // Each of `actions` has its `keys`, what they do as `text`, and `act`, which may return false
  // when it does not apply.
  constructor(actions) {
    this.actions = actions;
    this.off = isOff();
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.closest?.("input, textarea, select");
    if (typing && event.key !== "Escape") return;
    if (typing) {
      typing.blur();
      event.preventDefault();
      return;
    }
    if (this.off && event.key !== "Escape") return;
    const action = this.actions.find(({ keys }) => keys.split(" ").includes(event.key));
    if (action && action.act() !== false) event.preventDefault();
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
    try {
      localStorage.setItem(OFF, off ? "yes" : "no");
    } catch {
      // Then it holds for this page alone.
    }
  }
}
