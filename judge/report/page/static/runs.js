// The runs of a service with how far each is, starting one, and choosing those to compare.

import { alarm, announce, button, clipped, control, el, frame, grid, isolated, option } from "./dom.js";
import { factList } from "./app.js";
import { ask } from "./load.js";
import { count } from "./words.js";

const COLUMNS = {
  run: (run) => run.name || run.id, state: (run) => run.state, model: (run) => run.model, rubric: (run) => run.rubric, judge: (run) => run.judge,
  studies: (run) => run.n_studies, scored: (run) => run.n_scored, headline: (run) => run.headline?.[0]?.text, started: (run) => run.started,
};
const SWITCHES = [
  { name: "common", value: "true", label: "different studies (compare the shared ones)" },
  { name: "allow", value: "judge", label: "different judges" },
  { name: "allow", value: "prompt", label: "different prompts" },
  { name: "allow", value: "references", label: "different references" },
];

export async function runsPage() {
  document.title = "judge: runs";
  const page = { list: el("div", { id: "runs" }), sort: "started", isDescending: true, ticked: new Set() };
  page.compare = button("Compare the ticked runs", () => location.assign(`/compare?${new URLSearchParams([...page.ticked].map((id) => ["run", id]))}`), { disabled: true });
  const form = await startForm(page);
  frame(el("header", { class: "top" }, el("h1", {}, "judge"), el("a", { href: "/compare" }, "Compare runs"), el("a", { href: "/openapi.json" }, "API"),
    el("p", { class: "small line" }, "Finds the errors in generated radiology reports, study by study.")),
  el("main", { id: "main" }, form, el("h2", { id: "studies-title", tabindex: "-1" }, "Runs"), page.compare, page.list));
  await draw(page);
}

// The options that most runs need; POST /v1/runs takes all that the command line does.
async function startForm(page) {
  const [{ rubrics }, { judges }] = await Promise.all([ask("/v1/rubrics"), ask("/v1/judges")]);
  const file = (name, label, required) => control(`start-${name}`, label, el("input", { type: "file", name, required }));
  const select = (name, label, options) => control(`start-${name}`, label, el("select", { name }, options));
  const text = (name, label, hint) => control(`start-${name}`, label, el("input", { name, placeholder: hint, maxlength: "200" }));
  const first = rubrics.find(({ name }) => name === "green") ? "green" : null;
  const check = button("Check", () => send("/v1/runs/check", checked));
  const start = el("button", { type: "submit", class: "main" }, "Judge");
  const answer = el("div", { id: "checked", role: "status" });
  const form = el("form", {},
    el("div", { class: "controls" },
      file("preds", "Candidate reports", true), file("refs", "References (none where one file holds both)", false)),
    el("div", { class: "controls" },
      select("rubric", "Rubric", rubrics.map(({ name, title }) => option(name, title, first))),
      select("judge", "Judge", judges.map((judge) => option(judge.name, judgeLabel(judge)))),
      text("model", "Model", "from the file's name"), text("id_field", "ID column", "study_id"),
      text("candidate_field", "Report column", "prediction"), text("reference_field", "Reference column", "report")),
    el("div", { class: "controls" }, check, start));
  // What was checked is no longer what would be sent.
  form.addEventListener("input", () => answer.replaceChildren());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send("/v1/runs", () => {
      announce("The run has started.");
      draw(page).catch(alarm);
      return [];
    });
  });

  function send(address, shownOf) {
    if (!form.reportValidity()) return;
    const body = new FormData(form);
    if (!body.get("refs").size) body.delete("refs");
    check.disabled = start.disabled = true;
    answer.replaceChildren(el("p", { class: "small" }, "Reading the files ..."));
    ask(address, { method: "POST", body })
      .then((found) => answer.replaceChildren(...shownOf(found)))
      .catch((error) => answer.replaceChildren(el("p", { class: "wrong" }, isolated(error.message))))
      .finally(() => { check.disabled = start.disabled = false; });
  }
  return el("details", { id: "start" }, el("summary", {}, "Start a run"), form, answer);
}

function judgeLabel({ name, built_in: isBuiltIn, budget, left }) {
  const dollars = (sum) => (sum === null ? "?" : `$${(Math.floor(100 * sum + 1e-6) / 100).toFixed(2)}`);
  return `${name}${isBuiltIn ? " (built in)" : ""}${budget === null ? "" : ` (${dollars(left)} of ${dollars(budget)} left)`}`;
}

function checked({ facts, costs, first }) {
  const list = (all) => factList(all.map(({ name, text }) => ({ name, value: text })));
  const side = (name, text) => [el("h4", {}, name), el("div", { class: "text" }, clipped(text || "(empty)"))];
  return [
    el("h2", {}, "Before it is judged"), list(facts),
    el("h3", {}, "What it may cost"), list(costs),
    el("details", {}, el("summary", {}, `The first ${count(first.length, "study", "studies")}`),
      first.map(({ study_id: id, reference, candidate }) => el("div", { class: "sample" },
        el("h3", {}, isolated(id)), el("div", {}, side("Reference", reference)), el("div", {}, side("Candidate", candidate))))),
    el("p", { class: "small" }, "Nothing was sent to a judge, and nothing is stored. Judge starts the run."),
  ];
}

async function draw(page) {
  const [{ runs }, { judges }] = await Promise.all([ask("/v1/runs"), ask("/v1/judges")]);
  const offered = document.getElementById("start-judge").options;
  judges.forEach((judge, at) => { offered[at].textContent = judgeLabel(judge); });
  page.compare.hidden = !runs.length;
  if (!runs.length) {
    page.list.replaceChildren(el("p", { class: "empty" },
      "No runs yet. Start one above: choose your two files and press Check, which shows what would be judged and what ",
      "it costs, without asking a judge. Runs of the command line and of notebooks are listed here too, if their folders are ",
      "beside the service's own or are named: judge serve RUN."));
    document.getElementById("start").open = true;
    return;
  }
  drawRuns(runs, page);
}

function drawRuns(runs, page) {
  const { list, sort, isDescending } = page;
  const value = COLUMNS[sort];
  const sorted = runs.toSorted((a, b) => {
    const [one, other] = [value(a) ?? null, value(b) ?? null];
    if (one === null || other === null) return (one === null) - (other === null);
    return (isDescending ? -1 : 1) * (typeof one === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true }));
  });
  const heading = (name) => {
    const click = () => {
      Object.assign(page, { sort: name, isDescending: sort === name ? !isDescending : false });
      drawRuns(runs, page);
      page.list.querySelector(`[data-sort="${name}"]`).focus();
    };
    return el("th", { scope: "col", "aria-sort": sort === name ? (isDescending ? "descending" : "ascending") : null },
      button([name, el("span", { "aria-hidden": "true" }, sort === name ? (isDescending ? " ▾" : " ▴") : "")], click, { class: "sort", "data-sort": name }));
  };
  list.replaceChildren(grid("runs", "Runs",
    [el("th", { scope: "col" }, el("span", { class: "unseen" }, "compare")), ...Object.keys(COLUMNS).map(heading)], sorted.map((run) => runLine(run, page))));
}

function runLine(run, page) {
  const name = run.name || run.id;
  const state = el("td", {}, stateOf(run, page));
  if (["running", "queued"].includes(run.state)) follow(run, state, page);
  const isFinished = run.state === "finished";
  const tick = ({ target }) => {
    page.ticked[target.checked ? "add" : "delete"](run.id);
    page.compare.disabled = page.ticked.size < 2;
  };
  return el("tr", {},
    el("td", {}, isFinished ? el("input", { type: "checkbox", checked: page.ticked.has(run.id), "aria-label": `Compare ${name}`, on: { change: tick } }) : null),
    el("th", { scope: "row" }, isFinished ? el("a", { href: `/runs/${encodeURIComponent(run.id)}` }, isolated(name)) : isolated(name)),
    state,
    [run.model, run.rubric, run.judge].map((value) => el("td", {}, isolated(value ?? ""))),
    [run.n_studies, run.n_scored].map((value) => el("td", { class: "numbers" }, value?.toLocaleString("en") ?? "")),
    el("td", {}, (run.headline ?? []).map(({ label, text }) => el("div", { class: "small" }, `${label} ${text}`))),
    el("td", {}, isolated((run.started ?? "").replace("T", " ").slice(0, 16))));
}

function stateOf(run, page) {
  const act = (verb, text) => button(text, () => ask(`/v1/runs/${encodeURIComponent(run.id)}/${verb}`, { method: "POST" })
    .then(() => draw(page)).catch(alarm), { class: "quiet" });
  const parts = [isolated(run.state)];
  if (run.detail) parts.push(el("span", { class: "small" }, " ", isolated(run.detail)));
  const { progress } = run;
  if (["running", "queued"].includes(run.state)) {
    if (progress?.total) {
      parts.push(el("progress", { value: progress.done, max: progress.total, "aria-label": "progress" }),
        ` ${progress.done.toLocaleString("en")} of ${count(progress.total, "study", "studies")} `);
    }
    parts.push(act("stop", "Stop"));
  }
  if (["stopped", "failed"].includes(run.state)) parts.push(" ", act("resume", "Resume"));
  return parts;
}

function follow(run, cell, page) {
  const events = new EventSource(`/v1/runs/${encodeURIComponent(run.id)}/events`);
  events.addEventListener("progress", (event) => {
    const progress = JSON.parse(event.data);
    cell.replaceChildren(...stateOf({ ...run, state: progress.state ?? run.state, progress }, page));
  });
  events.addEventListener("end", () => {
    events.close();
    draw(page).catch(alarm);
  });
  window.addEventListener("pagehide", () => events.close(), { once: true });
}

// The comparison of a service: the form alone until runs are chosen.
export async function compareStart(query, show) {
  const hasRuns = query.has("run");
  document.title = "Compare runs";
  const word = el("p", { class: "count" }, hasRuns ? "Comparing ..." : "Tick two or more runs, then Compare.");
  const form = compareForm(query, !hasRuns);
  frame(el("header", { class: "top" }, el("h1", {}, document.title), el("a", { href: "/" }, "All runs"), form), el("main", { id: "main" }, word));
  if (!hasRuns) return;
  try {
    await show();
  } catch (error) {
    word.textContent = "These runs could not be compared.";
    form.open = true;
    throw error;
  }
}

// Which runs to compare, and how.
export function compareForm(query, isOpen = false) {
  const names = query.getAll("name");
  const chosen = new Map(query.getAll("run").map((run, at) => [run, names[at] ?? ""]));
  const rows = el("div", {});
  const text = (name, label, hint) => control(`ask-${name}`, label,
    el("input", { name, value: query.get(name) ?? "", placeholder: hint, maxlength: "200" }));
  const submit = (event) => {
    event.preventDefault();
    if (form.querySelector("[name=run]:checked")) location.assign(`?${asked(form, query)}`);
    else alarm(new Error("Tick the runs to compare first."));
  };
  const form = el("form", { on: { submit } }, rows,
    el("fieldset", { class: "switches" }, el("legend", {}, "Allow"),
      SWITCHES.map(({ name, value, label }) => el("label", {},
        el("input", { type: "checkbox", name, value, checked: query.getAll(name).includes(value) }), ` ${label}`))),
    el("div", { class: "controls" }, text("by", "Subgroups", "site, study_class"), text("patient_field", "Patient column", "patient"),
      el("button", { type: "submit", class: "main" }, "Compare")));
  listChoices(rows, chosen).catch(alarm);
  return el("details", { id: "ask", open: isOpen }, el("summary", {}, "Runs and options"), form);
}

async function listChoices(rows, chosen) {
  const finished = (await ask("/v1/runs")).runs.filter(({ state }) => state === "finished");
  const head = ["Run", "Rubric", "Judge", "Studies", "Model"];
  rows.replaceChildren(finished.length ? grid("runs", "Runs to compare", head.map((name) => el("th", { scope: "col" }, name)), finished.map((run, at) => el("tr", {},
    el("th", { scope: "row" }, el("label", {}, el("input", { type: "checkbox", name: "run", value: run.id, checked: chosen.has(run.id) }), " ", isolated(run.name || run.id))),
    el("td", {}, isolated(run.rubric ?? "")),
    el("td", {}, isolated(run.judge ?? "")),
    el("td", { class: "numbers" }, run.n_studies?.toLocaleString("en") ?? ""),
    el("td", {}, el("input", {
      "aria-label": `Model of ${run.name || run.id}`, "data-model": run.id, id: `ask-model-${at}`, value: chosen.get(run.id) ?? "",
      placeholder: run.model ?? "as the run says", maxlength: "200",
    }))))) : el("p", { class: "empty" }, "There is no finished run to compare."));
}

// The address's query: the runs that are ticked, each with its model, and what the form lacks.
function asked(form, before) {
  const query = new URLSearchParams();
  for (const name of ["sort", "tests", "resamples", "flips", "seed"]) if (before.has(name)) query.set(name, before.get(name));
  for (const box of form.querySelectorAll("[name=run]:checked")) {
    query.append("run", box.value);
    query.append("name", form.querySelector(`[data-model="${CSS.escape(box.value)}"]`).value.trim());
  }
  for (const box of form.querySelectorAll(".switches :checked")) query.append(box.name, box.value);
  for (const field of form.querySelectorAll(".controls [name]")) if (field.value.trim()) query.set(field.name, field.value.trim());
  return query.toString();
}
