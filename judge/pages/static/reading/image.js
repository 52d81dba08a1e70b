// The image of a study beside its reports; enlarged it scrolls in its frame.

import { button, el } from "./dom.js";

const MOST = 12;

export class ImageView {
  zoom = 1;

  constructor(address) {
    const broken = "This image cannot be shown: it is not in the folder of images, or is no PNG, JPEG or WebP.";
    this.image = el("img", { alt: "Image of the study", on: { error: () => this.#says(broken), load: () => this.#says("") } });
    this.text = el("p", { class: "small", role: "status" });
    this.element = el("section", { class: "image", "aria-label": "Image of the study" },
      el("div", { class: "tools" },
        button("−", () => this.scale(1 / 1.4), { "aria-label": "Zoom out" }),
        button("+", () => this.scale(1.4), { "aria-label": "Zoom in" }),
        button("Whole", () => this.scale(0))),
      el("div", { class: "view", tabindex: "0", role: "group", "aria-label": "Image; arrows move it" }, this.image),
      this.text);
    this.image.src = address;
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
