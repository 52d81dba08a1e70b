// The runs of a service: starting one, its progress, and choosing those to compare. It also starts
// the page: the view is named by the file, or by the address of the service.

import { comparisonPage } from "./comparison.js";
import { alarm, announce, begin, button, control, el, find, frame, grid, isolated, option, redraw } from "./dom.js";
import { count } from "./format.js";
import { ask } from "./load.js";
import { runPage } from "./run.js";
import { validationPage } from "./validation.js";

const COLUMNS = ["compare", "run", "state", "model", "rubric", "judge", "studies", "scored", "headline", "started"];
const POLL_MS = 1000;
const MAX_HEADLINE = 4;
const SWITCHES = [
  { name: "common", value: "true", label: "different studies (compare the shared ones)" },
  { name: "allow", value: "judge", label: "different judges" },
  { name: "allow", value: "prompt", label: "different prompts" },
  { name: "allow", value: "references", label: "different references" },
];
const isActive = ({ state }) => ["running", "queued"].includes(state);

async function runsPage() {
  document.title = "judge: runs";
  const query = new URLSearchParams(location.search);
  /** @type {any} */
  const page = { list: el("div", { id: "runs" }), ticked: new Set(query.getAll("run")), cells: new Map() };
  page.compare = compareForm(query, page);
  frame(el("header", { class: "top" }, el("h1", {}, "judge"), el("a", { href: "/openapi.json" }, "API"),
    el("p", { class: "small note-line" }, "Finds the errors in generated radiology reports, study by study.")),
  el("main", { id: "main" }, await startForm(page),
    el("h2", { id: "studies-title", tabindex: "-1" }, "Runs"), page.compare, page.list));
  await draw(page);
}

// The form that leads to the comparison of the ticked runs.
function compareForm(query, page) {
  const text = (name, label, hint) => control(`ask-${name}`, label,
    el("input", { name, value: query.get(name) ?? "", placeholder: hint, maxlength: "200" }));
  const submit = (event) => {
    event.preventDefault();
    const chosen = [...new FormData(event.target)].map(([name, value]) => [name, String(value).trim()]).filter(([, value]) => value);
    const address = new URLSearchParams([...[...page.ticked].map((run) => ["run", run]), ...chosen]);
    if (page.ticked.size) location.assign(`/compare?${address}`);
    else alarm(new Error("Tick the runs to compare."));
  };
  return el("details", { id: "ask", open: query.has("run") }, el("summary", {}, "Compare the ticked runs"),
    el("form", { on: { submit } },
      el("fieldset", { class: "controls" }, el("legend", { class: "small" }, "Allow"),
        SWITCHES.map(({ name, value, label }) => el("label", {},
          el("input", { type: "checkbox", name, value, checked: query.getAll(name).includes(value) }), ` ${label}`))),
      el("div", { class: "controls" }, text("by", "Subgroups", "site, study_class"), text("patient_field", "Patient column", "patient"),
        el("button", { type: "submit", class: "main" }, "Compare"))));
}

// The options that most runs need; the command line has more.
async function startForm(page) {
  const [{ rubrics }, { judges }] = await Promise.all([ask("/v1/rubrics"), ask("/v1/judges")]);
  const file = (name, label, required) => control(`start-${name}`, label, el("input", { type: "file", name, required }));
  const select = (name, label, options) => control(`start-${name}`, label, el("select", { name }, options));
  const text = (name, label, hint) => control(`start-${name}`, label, el("input", { name, placeholder: hint, maxlength: "200" }));
  const start = el("button", { type: "submit", class: "main" }, "Judge");
  const answer = el("div", { id: "refused", role: "status" });
  const form = el("form", {},
    el("div", { class: "controls" },
      file("preds", "Candidate reports", true), file("refs", "References (none where one file holds both)", false)),
    el("div", { class: "controls" },
      select("rubric", "Rubric", rubrics.map(({ name, title }) => option(name, title, "green"))),
      select("judge", "Judge", judges.map((judge) => option(judge.name, judgeLabel(judge)))),
      text("model", "Model", "from the file's name"), text("id_field", "ID column", "study_id"),
      text("candidate_field", "Report column", "prediction"), text("reference_field", "Reference column", "report")),
    el("div", { class: "controls" }, start));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const body = new FormData(form);
    if (!(/** @type {File} */ (body.get("refs")).size)) body.delete("refs");
    start.disabled = true;
    answer.replaceChildren();
    ask("/v1/runs", { method: "POST", body })
      .then(() => {
        announce("The run has started.");
        return draw(page);
      })
      .catch((error) => answer.replaceChildren(el("p", { class: "wrong" }, isolated(error.message))))
      .finally(() => { start.disabled = false; });
  });
  return el("details", { id: "start" }, el("summary", {}, "Start a run"), form, answer);
}

function judgeLabel({ name, built_in: isBuiltIn, budget, left }) {
  const dollars = (sum) => (sum === null ? "?" : `$${(Math.floor(100 * sum + 1e-6) / 100).toFixed(2)}`);
  return `${name}${isBuiltIn ? " (built in)" : ""}${budget === null ? "" : ` (${dollars(left)} of ${dollars(budget)} left)`}`;
}

// Draws the runs, and again after a while where one goes on or the service does not answer.
async function draw(page) {
  clearTimeout(page.timer);
  try {
    const { runs } = await ask("/v1/runs");
    if (page.hasFailed) find("#alarm").replaceChildren();
    page.hasFailed = false;
    drawRuns(runs, page);
    if (!runs.some(isActive)) return;
  } catch (error) {
    if (!page.hasFailed) alarm(error);
    page.hasFailed = true;
  }
  page.timer = setTimeout(() => draw(page), POLL_MS);
}

// Of the runs that are there already only their progress is drawn anew.
function drawRuns(runs, page) {
  const key = JSON.stringify(runs.map(({ id, state }) => [id, state]));
  if (key === page.drawn) {
    for (const run of runs.filter(isActive)) redraw(page.cells.get(run.id), stateOf(run, page));
    return;
  }
  page.drawn = key;
  page.compare.hidden = !runs.length;
  if (!runs.length) find("#start").open = true;
  redraw(page.list, runs.length
    ? grid("runs", "Runs", COLUMNS.map((name) => el("th", { scope: "col" }, name)), runs.map((run) => runLine(run, page)))
    : el("p", { class: "empty" }, "No runs yet. Start one above, or name the folders of others: judge serve RUN."));
}

function runLine(run, page) {
  const { id } = run;
  const isFinished = run.state === "finished";
  const change = ({ target }) => {
    if (target.checked) page.ticked.add(id);
    else page.ticked.delete(id);
    find("#ask").open = page.ticked.size > 1;
  };
  page.cells.set(id, el("td", {}, stateOf(run, page)));
  const cells = [run.model, run.rubric, run.judge].map((value) => el("td", {}, isolated(value ?? "")));
  return el("tr", {},
    el("td", {}, isFinished ? el("input", {
      type: "checkbox", checked: page.ticked.has(id), "aria-label": `Compare ${id}`, "data-act": `tick ${id}`, on: { change },
    }) : null),
    el("th", { scope: "row" }, isFinished ? el("a", { href: `/runs/${encodeURIComponent(id)}`, "data-act": `open ${id}` }, isolated(id)) : isolated(id)),
    page.cells.get(id), cells,
    [run.n_studies, run.n_scored].map((value) => el("td", { class: "numbers" }, value?.toLocaleString("en") ?? "")),
    el("td", {}, (run.headline ?? []).slice(0, MAX_HEADLINE).map(({ label, text }) => el("div", { class: "small" }, `${label} ${text}`))),
    el("td", { class: "small" }, isolated((run.started ?? "").replace("T", " ").slice(0, 16))));
}

function stateOf(run, page) {
  const act = (verb, text) => button(text, () => ask(`/v1/runs/${encodeURIComponent(run.id)}/${verb}`, { method: "POST" })
    .then(() => draw(page)), { class: "quiet", "data-act": `${verb} ${run.id}` });
  const { state, detail, progress } = run;
  return [
    isolated(state), detail ? el("span", { class: "small" }, " ", isolated(detail)) : "",
    ...(isActive(run) && progress?.total ? [
      el("progress", { value: progress.done, max: progress.total, "aria-label": "progress" }),
      ` ${progress.done.toLocaleString("en")} of ${count(progress.total, "study", "studies")} `] : []),
    isActive(run) ? act("stop", "Stop") : ["stopped", "failed"].includes(state) ? act("resume", "Resume") : "",
  ];
}

begin(async () => {
  const { view, run, reader } = document.documentElement.dataset;
  const pages = { comparison: comparisonPage, run: runPage, validation: validationPage };
  if (view) await pages[view]();
  else if (run) await runPage(run, reader);
  else if (location.pathname === "/compare") await comparisonPage();
  else await runsPage();
});
