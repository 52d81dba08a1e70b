// Opens the page of judges and readers and draws what is asked for.

import { begin, el, fact, frame, goTo, said } from "./dom.js";
import { goToLine, safely, step, turnTo } from "./opened.js";
import { printedTable } from "./parts.js";
import { openStore } from "./cells.js";
import { countsSection, drawCounts } from "./disagreement.js";
import { drawBeside } from "./beside.js";

function coverage({ here, all }) {
  if (here === all) return "The reports of all studies are in this page.";
  return `The reports of ${here.toLocaleString("en")} of ${all.toLocaleString("en")} studies are in this page: some of every point, `
    + "and all of those points that few studies share. The counts of all studies are here.";
}

async function start() {
  const store = await openStore();
  const { overview } = store;
  const app = {
    store,
    // The rows of the list, in its order, beyond the page of it that shows.
    listed: [],
    // `marks` is the rater whose errors are marked in the reports, null for all.
    state: { quantity: 0, judge: store.judges[0], order: "most", cell: null, offset: 0, study: null, marks: null },
    async set(change) {
      const isOther = ["quantity", "judge"].some((name) => name in change);
      Object.assign(app.state, isOther ? { cell: null, study: null, offset: 0, marks: null } : {}, change);
      if ("cell" in change) app.state.study = null;
      await draw();
    },
    // The studies of a point; the only one opens at once.
    async openCell(cell) {
      await app.set({ cell, offset: 0 });
      if (app.listed.length === 1) await app.open(app.listed[0]);
      else goTo(document.getElementById("list-title"), "start");
    },
    async open(row) {
      app.state.study = row;
      turnTo(row, app);
      await draw();
      goTo(document.getElementById("study-title"), "start");
    },
    step: (by) => step(by, app),
    async back() {
      turnTo(app.state.study, app);
      await draw();
      goToLine(app.state.study, "list-title");
    },
  };
  const draw = async () => {
    await drawCounts(app);
    await drawBeside(app);
  };
  safely(app, "set", "openCell", "open", "step", "back");
  const notes = overview.facts.filter(({ name }) => name === "note");
  const [first, ...more] = overview.tables;
  frame(
    el("header", { class: "top" }, el("h1", {}, document.title), notes.map(({ value }) => el("p", { class: "note" }, said(value)))),
    el("main", { id: "main" },
      el("section", { id: "agreement", "aria-labelledby": "agreement-title" },
        el("h2", { id: "agreement-title", tabindex: "-1" }, "Agreement"),
        el("dl", { class: "facts" }, overview.facts.filter(({ name }) => name !== "note").map(({ name, value }) => fact(name, said(value)))),
        first ? printedTable(first) : el("p", { class: "empty" }, "No table has a row."),
        more.length ? el("details", {}, el("summary", {}, "More tables: rates, limits, errors, the alternative-annotator test"),
          more.map(printedTable)) : null),
      overview.quantities.length ? countsSection(app) : el("p", { class: "empty" }, "Nothing that is counted is shared.")),
    el("footer", {},
      el("p", { class: "small" }, coverage(overview.studies)),
      el("p", { class: "mono" }, "Signature: ", said(overview.signature))));
  if (overview.quantities.length) await draw();
}

begin(start);
