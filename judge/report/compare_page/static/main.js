// Opens the comparison and draws what is asked for.

import { begin, el, frame, goTo, said } from "./dom.js";
import { fileTransport, serviceTransport } from "./transports.js";
import { openStore } from "./store.js";
import { goToLine, safely, step, turnTo } from "./opened.js";
import { boardSection, drawBoard, drawPairs, pairsSection, ranking } from "./board.js";
import { drawErrors, errorsSection } from "./errors.js";
import { drawStudies, studiesSection } from "./studies.js";
import { coverage, drawStudy } from "./study.js";
import { correlationSection, drawFigures, figuresSection } from "./figures.js";
import { runsForm } from "./form.js";
import { keepAddress, stateOfAddress } from "./address.js";

async function start(transport, top) {
  const store = await openStore(transport);
  const { overview } = store;
  const order = ranking(overview.groups[0], overview.sort);
  const app = {
    store,
    overview,
    // The rows of the list, in its order, beyond the page of it that shows.
    listed: [],
    // What the page shows; `start` is what it shows of itself, and `follow` fills in the rest.
    // The leaderboard and the list have a metric each: to look into a number ranks nothing anew.
    state: null,
    start: {
      group: 0, metric: overview.sort, reversed: false, tested: order[0], a: order[0], b: order[1] ?? null,
      studyMetric: overview.sort, first: "a", only: "all", offset: 0, study: null,
      // The rubric whose errors a study's reports are marked with; null for that of its metric.
      marks: null,
    },
    get group() { return overview.groups[app.state.group]; },
    get metric() { return overview.metrics.find(({ name }) => name === app.state.metric); },
    get studyMetric() { return overview.metrics.find(({ name }) => name === app.state.studyMetric); },
    async set(change) {
      const restart = ["group", "studyMetric", "a", "b"].some((name) => name in change);
      Object.assign(app.state, restart ? { offset: 0, study: null } : {}, "metric" in change ? { reversed: false } : {}, change);
      keepAddress(app);
      await draw(app);
    },
    // The studies behind a cell: against the best other model, which leads or comes next.
    behind(model, metric) {
      const other = ranking(app.group, metric).find((at) => at !== model) ?? null;
      const leads = ranking(app.group, metric)[0] === model;
      return app.show({ a: model, b: other, studyMetric: metric, first: leads ? "a" : "b" });
    },
    async show(change) {
      await app.set({ first: "a", ...change });
      goTo(document.getElementById("studies-title"), "start");
    },
    async open(row) {
      const isStep = app.state.study === null;
      app.state.study = row;
      keepAddress(app, isStep);
      turnTo(row, app);
      await drawStudies(app);
      await drawStudy(app);
      goTo(document.getElementById("study-title"), "start");
    },
    // What the address asks for, at the start and where Back or Forward has changed it.
    async follow() {
      const { study } = app.state ?? app.start;
      app.state = stateOfAddress(app);
      await draw(app);
      if (app.state.study !== null) await app.open(app.state.study);
      else if (study !== null) await toLine(study);
    },
    step: (by) => step(by, app),
    back: () => toLine(app.state.study),
  };
  // To a study's line in the list.
  const toLine = async (row) => {
    turnTo(row, app);
    await drawStudies(app);
    goToLine(row, "studies-title");
  };
  safely(app, "set", "behind", "show", "open", "follow", "step", "back");
  const n = overview.models.length;
  document.title = `Comparison of ${n} ${n === 1 ? "model" : "models"}`;
  frame(
    el("header", { class: "top" }, el("h1", {}, document.title),
      ...top, overview.notes.map((text) => el("p", { class: "note" }, said(text)))),
    el("main", { id: "main" },
      boardSection(app), pairsSection(app), errorsSection(app), studiesSection(app), correlationSection(app), figuresSection(app)),
    el("footer", {},
      overview.records ? el("p", { class: "small" }, coverage(overview.records)) : null,
      el("p", { class: "mono" }, "Signature: ", said(overview.signature))));
  await app.follow();
  window.addEventListener("popstate", app.follow);
  await drawFigures(store);
}

async function draw(app) {
  drawBoard(app);
  drawPairs(app);
  drawErrors(app);
  await drawStudies(app);
  await drawStudy(app);
}

begin(async () => {
  if (document.documentElement.dataset.mode === "file") {
    await start(fileTransport(), []);
    return;
  }
  const query = new URLSearchParams(location.search);
  document.title = "Compare runs";
  const hasRuns = query.has("run");
  const word = el("p", { class: "count" }, hasRuns ? "Comparing ..." : "The comparison will stand here.");
  const top = [el("a", { href: "/" }, "All runs"), runsForm(query, !hasRuns)];
  frame(el("header", { class: "top" }, el("h1", {}, document.title), ...top), el("main", { id: "main" }, word));
  if (!hasRuns) return;
  try {
    await start(serviceTransport(query), top);
  } catch (error) {
    word.textContent = "These runs could not be compared.";
    document.getElementById("ask").open = true;
    throw error;
  }
});
