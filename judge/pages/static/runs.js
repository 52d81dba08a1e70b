// The runs of a service: starting one, its progress, and choosing those to compare. It also starts
// the page: the view is named by the file, or by the address of the service.

import { comparisonPage } from "./comparison.js";
import { alarm, announce, begin, button, control, el, find, frame, grid, isolated, option } from "./dom.js";
import { count } from "./format.js";
import { comparison, sortHeading } from "./list.js";
import { ask } from "./load.js";
import { runPage } from "./run.js";
import { stressPage } from "./stress.js";
import { validationPage } from "./validation.js";

const COLUMNS = {
  run: (run) => run.id, state: (run) => run.state, model: (run) => run.model, rubric: (run) => run.rubric,
  judge: (run) => run.judge, studies: (run) => run.n_studies, scored: (run) => run.n_scored,
  headline: (run) => run.headline?.[0]?.text, started: (run) => run.started,
};
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
  const names = query.getAll("name");
  // By ticked run the name of its model in the comparison.
  const ticked = new Map(query.getAll("run").map((run, at) => [run, names[at] ?? ""]));
  const page = { list: el("div", { id: "runs" }), sort: "started", isDescending: true, ticked, compare: null };
  page.compare = compareForm(query, page);
  frame(el("header", { class: "top" }, el("h1", {}, "judge"), el("a", { href: "/openapi.json" }, "API"),
    el("p", { class: "small line" }, "Finds the errors in generated radiology reports, study by study.")),
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
    if (!page.ticked.size) {
      alarm(new Error("Tick the runs to compare."));
      return;
    }
    const address = new URLSearchParams([...page.ticked].flatMap(([run, name]) => [["run", run], ["name", name.trim()]]));
    for (const [name, value] of new FormData(event.target)) if (String(value).trim()) address.append(name, String(value).trim());
    location.assign(`/compare?${address}`);
  };
  return el("details", { id: "ask", open: query.has("run") }, el("summary", {}, "Compare the ticked runs"),
    el("form", { on: { submit } },
      el("fieldset", { class: "switches" }, el("legend", {}, "Allow"),
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

async function draw(page) {
  const [{ runs }, { judges }] = await Promise.all([ask("/v1/runs"), ask("/v1/judges")]);
  const options = find("#start-judge").options;
  judges.forEach((judge, at) => { options[at].textContent = judgeLabel(judge); });
  page.compare.hidden = !runs.length;
  if (runs.length) {
    drawRuns(runs, page);
    return;
  }
  page.list.replaceChildren(el("p", { class: "empty" },
    "No runs yet. Start one above, or name the folders of others: judge serve RUN."));
  find("#start").open = true;
}

function drawRuns(runs, page) {
  const { list, sort, isDescending } = page;
  const heading = (name) => sortHeading(name, name, sort === name, isDescending, () => {
    page.isDescending = sort === name && !isDescending;
    page.sort = name;
    drawRuns(runs, page);
    find(`[data-sort="${name}"]`, list).focus();
  });
  list.replaceChildren(grid("runs", "Runs",
    [el("th", { scope: "col" }, el("span", { class: "unseen" }, "compare")), Object.keys(COLUMNS).map(heading)],
    runs.toSorted(comparison(COLUMNS[sort], isDescending)).map((run) => runLine(run, page))));
}

function runLine(run, page) {
  const { ticked } = page;
  const name = run.id;
  const isFinished = run.state === "finished";
  const state = el("td", {}, stateOf(run, page));
  if (isActive(run)) follow(run, state, page);
  const model = el("td", {});
  const drawModel = () => model.replaceChildren(ticked.has(run.id) ? el("input", {
    "aria-label": `Model of ${name}`, value: ticked.get(run.id), placeholder: run.model ?? "as in the run", maxlength: "200",
    on: { input: ({ target }) => ticked.set(run.id, target.value) },
  }) : isolated(run.model ?? ""));
  const change = ({ target }) => {
    if (target.checked) ticked.set(run.id, "");
    else ticked.delete(run.id);
    find("#ask").open = ticked.size > 1;
    drawModel();
  };
  drawModel();
  return el("tr", {},
    el("td", {}, isFinished ? el("input", { type: "checkbox", checked: ticked.has(run.id), "aria-label": `Compare ${name}`, on: { change } }) : null),
    el("th", { scope: "row" }, isFinished ? el("a", { href: `/runs/${encodeURIComponent(run.id)}` }, isolated(name)) : isolated(name)),
    state, model,
    [run.rubric, run.judge].map((value) => el("td", {}, isolated(value ?? ""))),
    [run.n_studies, run.n_scored].map((value) => el("td", { class: "numbers" }, value?.toLocaleString("en") ?? "")),
    el("td", {}, (run.headline ?? []).slice(0, MAX_HEADLINE).map(({ label, text }) => el("div", { class: "small" }, `${label} ${text}`))),
    el("td", { class: "small" }, isolated((run.started ?? "").replace("T", " ").slice(0, 16))));
}

function stateOf(run, page) {
  const act = (verb, text) => button(text, () => ask(`/v1/runs/${encodeURIComponent(run.id)}/${verb}`, { method: "POST" })
    .then(() => draw(page)).catch(alarm), { class: "quiet" });
  const { state, detail, progress } = run;
  return [
    isolated(state), detail ? el("span", { class: "small" }, " ", isolated(detail)) : "",
    ...(isActive(run) && progress?.total ? [
      el("progress", { value: progress.done, max: progress.total, "aria-label": "progress" }),
      ` ${progress.done.toLocaleString("en")} of ${count(progress.total, "study", "studies")} `] : []),
    isActive(run) ? act("stop", "Stop") : ["stopped", "failed"].includes(state) ? act("resume", "Resume") : "",
  ];
}

// Draws the state of a run until it has ended, or the list is drawn anew.
async function follow(run, cell, page) {
  let hasFailed = false;
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, POLL_MS); });
    const isShown = cell.isConnected;
    try {
      const { run: now } = isShown ? await ask(`/v1/runs/${encodeURIComponent(run.id)}`) : { run };
      if (hasFailed) find("#alarm").replaceChildren();
      hasFailed = false;
      if (!isShown) return;
      if (isActive(now)) cell.replaceChildren(...stateOf(now, page));
      else await draw(page);
    } catch (error) {
      if (!hasFailed) alarm(error);
      hasFailed = true;
    }
  }
}

begin(async () => {
  const { view, run, reader } = document.documentElement.dataset;
  const pages = { comparison: comparisonPage, run: runPage, stress: stressPage, validation: validationPage };
  if (view) await pages[view]();
  else if (run) await runPage(run, reader);
  else if (location.pathname === "/compare") await comparisonPage();
  else await runsPage();
});
