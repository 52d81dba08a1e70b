// Builds the page. Text from outside goes in as text nodes only, each isolated from its
// surroundings, so that right-to-left marks in a report cannot reorder the page.

const MAX_SHOWN = 20000;
const MAX_LISTED = 300;

export function find(selector, root = document) {
  return root.querySelector(selector);
}

export function el(tag, properties = {}, ...children) {
  /** @type {any} */
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "style") {
      for (const [key, setting] of Object.entries(value)) element.style.setProperty(key, setting);
    } else if (["value", "checked", "selected"].includes(name)) {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(child);
  return element;
}

export function isolated(text) {
  return el("bdi", {}, String(text));
}

// A long text a part at a time: a browser takes many seconds to lay out a megabyte on one line.
export function clipped(text, show = isolated) {
  const rest = text.slice(MAX_SHOWN);
  if (!rest) return [show(text)];
  const more = button(`Show more: ${rest.length.toLocaleString("en")} characters follow`, () => more.replaceWith(...clipped(rest, show)), { class: "quiet" });
  return [show(text.slice(0, MAX_SHOWN)), more];
}

// The first entries of a long list, and a button for the rest.
export function listed(entries, show) {
  const shown = entries.slice(0, MAX_LISTED).map(show);
  if (entries.length <= MAX_LISTED) return shown;
  const rest = el("li", {}, button(`Show all ${entries.length.toLocaleString("en")}`, () =>
    rest.replaceWith(...entries.slice(MAX_LISTED).map((entry, index) => show(entry, MAX_LISTED + index))), { class: "quiet" }));
  return [...shown, rest];
}

// The answer to a question of a kind, null where a newer one was asked meanwhile.
export async function latestOnly(owner, kind, answer) {
  const question = Symbol(kind);
  owner[kind] = question;
  const result = await answer;
  return owner[kind] === question ? result : null;
}

export function button(text, click, properties = {}) {
  return el("button", { type: "button", on: { click }, ...properties }, text);
}

// Facts as a list, each a name and what is shown beside it.
export function factList(facts, properties = {}) {
  return el("dl", { class: "facts", ...properties }, facts.map(([name, ...value]) =>
    el("div", {}, el("dt", {}, isolated(name)), el("dd", {}, ...value))));
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
  find("#announcer").textContent = text;
}

export function alarm(error) {
  const region = find("#alarm");
  region.replaceChildren(isolated(error.message), button("Dismiss", () => region.replaceChildren(), { class: "quiet" }));
}

// Brings an element into sight, and the keyboard to it.
export function goTo(element, block) {
  element?.focus({ preventScroll: true });
  element?.scrollIntoView({ block });
}

// Draws a box anew; what had the keyboard keeps it, known by its `data-act`.
export function redraw(box, ...content) {
  const act = box.contains(document.activeElement) ? document.activeElement.getAttribute("data-act") : null;
  box.replaceChildren(...content.flat(Infinity).filter((part) => part !== null && part !== undefined));
  if (act) find(`[data-act="${CSS.escape(act)}"]:not([disabled])`, box)?.focus();
}

export function frame(...content) {
  document.querySelectorAll("body > :not(script)").forEach((old) => old.remove());
  document.body.prepend(
    el("a", { class: "skip", href: "#main", on: { click: skip } }, "Skip to the studies"),
    el("div", { id: "announcer", class: "unseen", role: "status", "aria-live": "polite" }),
    el("div", { id: "alarm", role: "alert" }),
    ...content,
  );
}

// Starts the page; the document says when it is drawn, or why it cannot be. What fails later is
// shown too.
export function begin(start) {
  window.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    alarm(event.reason);
  });
  start().catch((error) => {
    if (!find("#alarm")) frame(el("main", { id: "main" }, el("h1", {}, "This page cannot be shown")));
    alarm(error);
  }).finally(() => { document.documentElement.dataset.ready = "yes"; });
}

function skip(event) {
  event.preventDefault();
  const headings = [...document.querySelectorAll("#studies-title, #study-title")];
  const target = headings.find((heading) => heading.checkVisibility()) ?? find("#main");
  target.setAttribute("tabindex", "-1");
  target.focus();
}

// A table that scrolls sideways by itself; a caption that is not `shown` is only read out.
export function grid(kind, caption, head, rows, shown = false) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: kind },
      el("caption", { class: shown ? null : "unseen" }, isolated(caption)),
      el("thead", {}, el("tr", {}, head)),
      el("tbody", {}, rows)));
}

// A table as a terminal prints it; its first columns are words.
export function printedTable({ title, head, rows, n_left: left }) {
  const kind = (at) => (at < left ? "words" : "numbers");
  return el("div", { class: "printed" }, grid(null, title,
    head.map((text, at) => (text ? el("th", { scope: "col", class: kind(at) }, isolated(text)) : el("td"))),
    rows.map((row) => el("tr", {}, row.map((text, at) => (at === 0 ? el("th", { scope: "row" }, isolated(text))
      : el("td", { class: kind(at) }, isolated(text)))))), true));
}
