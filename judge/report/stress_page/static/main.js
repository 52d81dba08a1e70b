// Opens the page of a stress test; the pair that is open is named by the address.

import { alarm, begin, el, fact, frame, goTo, said } from "./dom.js";
import { unpacked } from "./data.js";
import { fileTransport } from "./transports.js";
import { Keys } from "./keys.js";
import { printedTable } from "./parts.js";
import { drawFigures, figuresSection } from "./figures.js";
import { drawList, listSection, offsetOf } from "./list.js";
import { drawPair } from "./pair.js";

const OPEN_TABLES = 3;
const ALL = { group: "", change: "", came: "", search: "", offset: 0 };

async function openStore() {
  const [overview, columns] = await Promise.all([unpacked("overview"), unpacked("columns")]);
  const { figures, figure } = fileTransport();
  let last = { at: -1, packet: null };
  return {
    overview,
    columns,
    figures,
    figure,
    async pair(row) {
      const at = Math.floor(row / columns.packet);
      if (last.at !== at) last = { at, packet: await unpacked(`packet-${at}`) };
      return last.packet[row % columns.packet];
    },
  };
}

// The slash between a study and its change stays readable.
function addressOf(id) {
  return `#${encodeURIComponent(id).replaceAll("%2F", "/")}`;
}

function idOfAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1);
  }
}

async function start() {
  const store = await openStore();
  const { overview, columns } = store;
  const app = {
    store,
    addressOf,
    // The rows of the list, in its order, beyond the page of it that shows.
    listed: [],
    state: { ...ALL, row: null },
    async set(change) {
      Object.assign(app.state, { offset: 0 }, change);
      drawList(app);
      await drawPair(app);
    },
    async reset() {
      document.getElementById("search").value = "";
      await app.set(ALL);
      goTo(document.getElementById("pairs-title"), "start");
    },
    async route() {
      const id = idOfAddress();
      const row = id ? columns.ids.indexOf(id) : -1;
      if (id && row < 0) alarm(new Error(`There is no pair ${id} on this page.`));
      const before = app.state.row;
      app.state.row = row < 0 ? null : row;
      const at = app.listed.indexOf(row < 0 ? before : row);
      if (at >= 0) app.state.offset = offsetOf(at);
      drawList(app);
      await drawPair(app);
      if (row >= 0) goTo(document.getElementById("study-title"), "start");
      else if (before !== null) goTo(document.querySelector(`[data-row="${before}"]`) ?? document.getElementById("pairs-title"), "center");
    },
    async step(by) {
      const at = app.listed.indexOf(app.state.row);
      const next = app.listed[at + by];
      if (at < 0 || next === undefined) return;
      history.replaceState(null, "", addressOf(columns.ids[next]));
      await app.route();
      document.querySelector(`[data-next="${by}"]:enabled`)?.focus({ preventScroll: true });
    },
    async back() {
      history.pushState(null, "", location.pathname + location.search);
      await app.route();
    },
  };
  for (const name of ["set", "reset", "route", "step", "back"]) {
    const own = app[name];
    app[name] = (...given) => own(...given).catch(alarm);
  }
  const inPair = (act) => () => (app.state.row === null ? false : act());
  const keys = new Keys([
    { keys: "n", text: "next pair", act: inPair(() => app.step(1)) },
    { keys: "p", text: "previous pair", act: inPair(() => app.step(-1)) },
    { keys: "/", text: "search a study", act: () => document.getElementById("search").focus() },
    { keys: "Escape", text: "leave a field, back to the list", act: inPair(() => app.back()) },
    { keys: "?", text: "this help", act: () => keys.help() },
  ]);
  const tables = overview.tables.map(printedTable);
  frame(
    el("header", { class: "top" }, el("h1", {}, document.title),
      el("button", { type: "button", class: "quiet", "aria-keyshortcuts": "?", on: { click: () => keys.help() } }, "Keys"),
      overview.notes.map((text) => el("p", { class: "note" }, said(text)))),
    el("main", { id: "main" },
      el("section", { id: "summary", "aria-labelledby": "summary-title" },
        el("h2", { id: "summary-title", tabindex: "-1" }, "Summary"),
        el("dl", { class: "facts" }, overview.facts.map(({ name, value }) => fact(name, said(value)))),
        tables.slice(0, OPEN_TABLES),
        tables.length > OPEN_TABLES ? el("details", {},
          el("summary", {}, `More tables: ${overview.tables.slice(OPEN_TABLES).map(({ title }) => title).join("; ")}`),
          tables.slice(OPEN_TABLES)) : null),
      overview.n_figures === 0 ? null : figuresSection(),
      listSection(app),
      el("div", { id: "opened" })),
    el("footer", {}, el("p", { class: "mono" }, "Signature: ", said(overview.signature))));
  window.addEventListener("hashchange", () => app.route());
  drawList(app);
  await app.route();
  if (overview.n_figures !== 0) await drawFigures(store);
}

begin(start);
