// An image beside the reports; enlarged, it scrolls in its frame.

import { el } from "./dom.js";

const MOST = 12;

export class ImageView {
  // `addresses` are those of a study's images.
  constructor(addresses) {
    Object.assign(this, { addresses, at: 0 });
    this.image = el("img", { alt: "", on: { error: () => this.failed(), load: () => this.fit() } });
    this.says = el("p", { class: "small", role: "status" });
    this.view = el("div", { class: "view", tabindex: "0", role: "group", "aria-label": "Image: + and − zoom, arrows move, 0 shows it whole" }, this.image);
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
    this.zoom = 1;
    this.scale(1);
  }

  // The middle of what shows stays in the middle.
  scale(by) {
    const before = this.zoom;
    this.zoom = Math.min(MOST, Math.max(1, before * by));
    const { view } = this;
    const [x, y] = [view.scrollLeft + view.clientWidth / 2, view.scrollTop + view.clientHeight / 2];
    for (const side of ["width", "height"]) this.image.style.setProperty(side, `${100 * this.zoom}%`);
    view.scrollTo((x * this.zoom) / before - view.clientWidth / 2, (y * this.zoom) / before - view.clientHeight / 2);
  }
}
