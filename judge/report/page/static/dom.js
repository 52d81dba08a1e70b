// Builds the page. Text from outside goes in as text nodes only, each apart from its
// surroundings, so that right-to-left marks in a report cannot reorder the page.

const CLIP = 20000;

export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "style") {
      for (const [key, setting] of Object.entries(value)) element.style.setProperty(key, setting);
    } else if (name === "value" || name === "checked" || name === "selected") {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

export function said(text) {
  return el("bdi", {}, String(text));
}

// A long text begins with its first part; the rest is there for the asking, since a browser
// takes seconds to lay out a megabyte on one line.
export function clipped(text, show = (part) => part) {
  if (text.length <= CLIP) return [show(text)];
  const all = () => rest.replaceWith(show(text.slice(CLIP)));
  const rest = el("button", { type: "button", class: "quiet", on: { click: all } },
    `Show all ${text.length.toLocaleString("en")} characters`);
  return [show(text.slice(0, CLIP)), rest];
}

// The answer to a question of a kind, null where a newer one was asked meanwhile: a slower answer
// to an older question must not replace a newer one.
export async function newest(app, kind, answer) {
  const asked = Symbol(kind);
  app[kind] = asked;
  const found = await answer;
  return app[kind] === asked ? found : null;
}

// One of a list of names with what is said of each.
export function fact(name, ...value) {
  return el("div", {}, el("dt", {}, said(name)), el("dd", {}, ...value));
}

// A field of a form below its label.
export function control(id, label, field) {
  field.id = id;
  return el("div", { class: "control" }, el("label", { for: id }, label), field);
}

export function option(value, label, chosen) {
  return el("option", { value, selected: value === chosen }, label);
}

export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

export function alarm(error) {
  const region = document.getElementById("alarm");
  region.replaceChildren(
    said(error.message),
    el("button", { type: "button", class: "quiet", on: { click: () => region.replaceChildren() } },
      "Dismiss"),
  );
}

// Brings an element into sight, and the keyboard to it.
export function goTo(element, block) {
  element?.focus({ preventScroll: true });
  element?.scrollIntoView({ block });
}

export function frame(...content) {
  // The data of a page in a file stand in script elements of its body, which stay.
  document.querySelectorAll("body > :not(script)").forEach((old) => old.remove());
  document.body.prepend(
    el("a", { class: "skip", href: "#main", on: { click: skip } }, "Skip to the studies"),
    el("div", { id: "announcer", class: "unseen", role: "status", "aria-live": "polite" }),
    el("div", { id: "alarm", role: "alert" }),
    ...content,
  );
}

// Starts the page; the document says when it is drawn, or why it cannot be.
export function begin(start) {
  start().catch((error) => {
    if (!document.getElementById("alarm")) frame(el("main", { id: "main" }, el("h1", {}, "This page cannot be shown")));
    alarm(error);
  }).finally(() => { document.documentElement.dataset.ready = "yes"; });
}

function skip(event) {
  event.preventDefault();
  const headings = [...document.querySelectorAll("main h2[tabindex]")];
  const target = headings.find((one) => one.checkVisibility()) ?? document.getElementById("main");
  target.setAttribute("tabindex", "-1");
  target.focus();
}

// A table with a caption that only a screen reader says.
export function grid(kind, caption, head, rows) {
  return el("table", { class: kind },
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, rows));
}

// From one page of a list to the others: `turn` is given the number of studies before the page
// that is asked for.
export function pager({ offset, n, limit }, turn) {
  if (n <= limit) return "";
  const step = (text, to, possible) => el("button", {
    type: "button", "data-step": text, disabled: !possible, on: { click: () => turn(to) },
  }, text);
  const end = Math.min(offset + limit, n);
  return el("nav", { class: "pager", "aria-label": "Pages of the list" },
    step("First", 0, offset > 0),
    step("Previous", Math.max(0, offset - limit), offset > 0),
    el("span", { class: "small" }, `${offset + 1} to ${end} of ${n.toLocaleString("en")}`),
    step("Next", offset + limit, end < n),
    step("Last", Math.floor((n - 1) / limit) * limit, end < n));
}
