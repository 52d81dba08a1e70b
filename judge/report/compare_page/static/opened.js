// The list of studies, a page at a time, and the one study of it that is opened below.

import { alarm, announce, control, el, goTo, newest, pager, said } from "./dom.js";
import { linkMarks } from "./items.js";
import { count } from "./words.js";

const LIMIT = 25;

// The part of a list that its page shows.
export function pageOf(shown, { state: { offset } }) {
  return shown.slice(offset, offset + LIMIT);
}

// Puts the list's page in its place; the focus stays on the button that turned to it.
export function showList(app, shown, ...content) {
  app.listed = shown.map(({ row }) => row);
  const focused = document.activeElement?.dataset?.step;
  const list = document.getElementById("list");
  list.replaceChildren(...content,
    pager({ offset: app.state.offset, n: shown.length, limit: LIMIT }, (offset) => app.set({ offset })));
  if (focused) list.querySelector(`[data-step="${focused}"]:enabled`)?.focus();
  announce(count(shown.length, "study", "studies"));
}

// A study's name in its line, which opens it.
export function opener(row, id, app) {
  return el("th", { scope: "row", title: id }, el("button", {
    type: "button", class: "quiet", "data-study": String(row), on: { click: () => app.open(row) },
  }, said(id)));
}

// Turns the list to the page with a study.
export function turnTo(row, app) {
  const at = app.listed.indexOf(row);
  if (at >= 0) app.state.offset = at - (at % LIMIT);
}

// To a study's line in the list, or to what `title` names.
export function goToLine(row, title) {
  goTo(document.querySelector(`[data-study="${row}"]`) ?? document.getElementById(title), "center");
}

// To the next study of the list, or back to the one before; the focus stays on the button.
export async function step(by, app) {
  const next = app.listed[app.listed.indexOf(app.state.study) + by];
  if (next === undefined) return;
  await app.open(next);
  document.querySelector(`[data-next="${by}"]:enabled`)?.focus({ preventScroll: true });
}

// Has what goes wrong in some of the page's acts told on it.
export function safely(app, ...names) {
  for (const name of names) {
    const own = app[name];
    app[name] = (...given) => own(...given).catch(alarm);
  }
}

// Draws the opened study, if there is one: what `draw` makes of the answers to `ask`.
export async function drawOpened(app, ask, draw) {
  const box = document.getElementById("opened");
  const { study } = app.state;
  if (study === null) {
    app.drawingStudy = null;
    box.replaceChildren();
    return;
  }
  const answers = await newest(app, "drawingStudy", Promise.all(ask(study)));
  if (!answers) return;
  const focused = document.activeElement?.id;
  box.replaceChildren(el("section", { id: "study", "aria-labelledby": "study-title" }, draw(study, ...answers)));
  linkMarks(document.getElementById("study"));
  if (focused === "marks") document.getElementById("marks").focus();
}

// The way to the next study and back; `marks` are the options of whose errors are marked, null
// where there is no choice.
export function steps({ state, listed, step: go, back }, marks, choose) {
  const at = listed.indexOf(state.study);
  const button = (by, text, enabled) => el("button", {
    type: "button", "data-next": String(by), disabled: at < 0 || !enabled, on: { click: () => go(by) },
  }, text);
  return el("nav", { class: "steps", "aria-label": "Studies of the list" },
    button(-1, "Previous study", at > 0),
    button(1, "Next study", at + 1 < listed.length),
    el("button", { type: "button", class: "quiet", on: { click: back } }, "Back to the list"),
    marks && control("marks", "Errors marked in the reports",
      el("select", { on: { change: ({ target }) => choose(target.value) } }, marks)),
    el("span", { class: "small" }, at < 0 ? "not in the list as it is now" : `${(at + 1).toLocaleString("en")} of ${listed.length.toLocaleString("en")}`));
}
