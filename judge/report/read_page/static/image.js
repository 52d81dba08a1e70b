// An image beside the reports, zoomed by wheel, pinch, keys or buttons, and moved by dragging.

import { el } from "./dom.js";

const MOST = 12;

export class ImageView {
  // `addresses` are those of a study's images.
  constructor(addresses) {
    Object.assign(this, { addresses, at: 0, zoom: 1, x: 0, y: 0 });
    this.pointers = new Map();
    this.image = el("img", { alt: "", draggable: "false", on: { error: () => this.failed(), load: () => this.fit() } });
    this.says = el("p", { class: "small", role: "status" });
    this.view = el("div", {
      class: "view", tabindex: "0", role: "group", "aria-label": "Image: + and − zoom, arrows move, 0 shows it whole",
      on: {
        wheel: (event) => { event.preventDefault(); this.scale(Math.exp(-event.deltaY / 400), event); },
        keydown: (event) => this.pressed(event), pointerdown: (event) => this.down(event),
        pointermove: (event) => this.moved(event), pointerup: (event) => this.up(event), pointercancel: (event) => this.up(event),
        dblclick: () => this.fit(),
      },
    }, this.image);
    const button = (text, label, act) => el("button", { type: "button", "aria-label": label, on: { click: act } }, text);
    const turn = addresses.length < 2 ? [] : [
      button("‹", "Previous image", () => this.turn(-1)), this.number = el("span", { class: "small" }), button("›", "Next image", () => this.turn(1))];
    this.element = el("section", { class: "image", "aria-label": "Image of the study" },
      el("div", { class: "tools" }, ...turn, button("−", "Zoom out", () => this.scale(1 / 1.4)),
        button("+", "Zoom in", () => this.scale(1.4)), button("Whole", "Show the whole image", () => this.fit())),
      this.view, this.says);
    this.turn(0);
  }

  turn(by) {
    this.at = (this.at + by + this.addresses.length) % this.addresses.length;
    this.image.src = this.addresses[this.at];
    this.image.alt = `Image ${this.at + 1} of ${this.addresses.length}`;
    if (this.number) this.number.textContent = `${this.at + 1} of ${this.addresses.length}`;
    this.image.hidden = false;
    this.says.textContent = "";
  }

  failed() {
    this.image.hidden = true;
    this.says.textContent = "This image cannot be shown: it is not in the folder of images, or is no PNG, JPEG or WebP.";
  }

  fit() {
    Object.assign(this, { zoom: 1, x: 0, y: 0 });
    this.place();
  }

  // What lies under the pointer, else the middle, stays where it is.
  scale(by, event = null) {
    const box = this.view.getBoundingClientRect();
    const [px, py] = event ? [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2] : [0, 0];
    const zoom = Math.min(MOST, Math.max(1, this.zoom * by));
    this.x = px - ((px - this.x) * zoom) / this.zoom;
    this.y = py - ((py - this.y) * zoom) / this.zoom;
    this.zoom = zoom;
    this.place();
  }

  place() {
    const [w, h] = [this.view.clientWidth, this.view.clientHeight].map((side) => (side * (this.zoom - 1)) / 2);
    this.x = Math.min(w, Math.max(-w, this.x));
    this.y = Math.min(h, Math.max(-h, this.y));
    this.image.style.setProperty("transform", `translate(${this.x}px, ${this.y}px) scale(${this.zoom})`);
  }

  move(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.place();
  }

  pressed(event) {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.move(...moves[event.key]);
  }

  down(event) {
    this.view.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
  }

  moved(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, event);
    if (!other) {
      this.move(event.clientX - before.clientX, event.clientY - before.clientY);
      return;
    }
    const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
    const middle = { clientX: (event.clientX + other.clientX) / 2, clientY: (event.clientY + other.clientY) / 2 };
    if (apart(before) > 0) this.scale(apart(event) / apart(before), middle);
  }

  up(event) {
    this.pointers.delete(event.pointerId);
  }
}
