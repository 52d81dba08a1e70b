// The images of a study beside its reports; an enlarged one scrolls in its frame.

import { button, el } from "./dom.js";

const MOST = 12;

export class ImageView {
  addresses;
  at = 0;
  zoom = 1;

  constructor(addresses) {
    this.addresses = addresses;
    const broken = "This image cannot be shown: it is not in the folder of images, or is no PNG, JPEG or WebP.";
    this.image = el("img", { on: { error: () => this.#says(broken), load: () => this.#says("") } });
    this.text = el("p", { class: "small", role: "status" });
    this.element = el("section", { class: "image", "aria-label": "Image of the study" },
      el("div", { class: "tools" },
        addresses.length > 1 ? button("Next image", () => this.#turn(this.at + 1)) : null,
        button("−", () => this.scale(1 / 1.4), { "aria-label": "Zoom out" }),
        button("+", () => this.scale(1.4), { "aria-label": "Zoom in" }),
        button("Whole", () => this.scale(0))),
      el("div", { class: "view", tabindex: "0", role: "group", "aria-label": "Image; arrows move it" }, this.image),
      this.text);
    this.#turn(0);
  }

  #turn(at) {
    this.at = at % this.addresses.length;
    this.image.src = this.addresses[this.at];
    this.image.alt = `Image ${this.at + 1} of ${this.addresses.length}`;
    this.scale(0);
  }

  #says(text) {
    this.image.hidden = text !== "";
    this.text.textContent = text;
  }

  scale(by) {
    this.zoom = Math.min(MOST, Math.max(1, this.zoom * by));
    for (const side of ["width", "height"]) this.image.style.setProperty(side, `${100 * this.zoom}%`);
  }
}
