// The runs of a service with how far each is, starting one, and choosing those to compare.

import { alarm, announce, button, clipped, control, el, frame, grid, isolated, option } from "./dom.js";
import { factList } from "./app.js";
import { ask } from "./load.js";
import { count } from "./words.js";

const COLUMNS = {
  run: (run) => run.name || run.id, state: (run) => run.state, model: (run) => run.model, rubric: (run) => run.rubric,
  judge: (run) => run.judge, studies: (run) => run.n_studies, scored: (run) => run.n_scored,
  headline: (run) => run.headline?.[0]?.text, started: (run) => run.started,
};
const LOOK_MS = 1000;
const SWITCHES = [
  { name: "common", value: "true", label: "different studies (compare the shared ones)" },
  { name: "allow", value: "judge", label: "different judges" },
  { name: "allow", value: "prompt", label: "different prompts" },
  { name: "allow", value: "references", label: "different references" },
];

export async function runsPage() {
  document.title = "judge: runs";
  const query = new URLSearchParams(location.search);
  const names = query.getAll("name");
  // By run that is ticked, what its model is to be called.
  const ticked = new Map(query.getAll("run").map((run, at) => [run, names[at] ?? ""]));
  const page = { list: el("div", { id: "runs" }), sort: "started", isDescending: true, ticked };
  page.compare = compareForm(query, page);
  frame(el("header", { class: "top" }, el("h1", {}, "judge"), el("a", { href: "/openapi.json" }, "API"),
    el("p", { class: "small line" }, "Finds the errors in generated radiology reports, study by study.")),
  el("main", { id: "main" }, await startForm(page),
    el("h2", { id: "studies-title", tabindex: "-1" }, "Runs"), page.compare, page.list));
  await draw(page);
}

// How the ticked runs are compared: the address of the comparison.
function compareForm(query, page) {
  const text = (name, label, hint) => control(`ask-${name}`, label,
    el("input", { name, value: query.get(name) ?? "", placeholder: hint, maxlength: "200" }));
  const submit = (event) => {
    event.preventDefault();
    if (!page.ticked.size) {
      alarm(new Error("Tick the runs to compare."));
      return;
    }
    const asked = new URLSearchParams([...page.ticked].flatMap(([run, name]) => [["run", run], ["name", name.trim()]]));
    for (const [name, value] of new FormData(event.target)) if (value.trim()) asked.append(name, value.trim());
    location.assign(`/compare?${asked}`);
  };
  return el("details", { id: "ask", open: query.has("run") }, el("summary", {}, "Compare the ticked runs"),
    el("form", { on: { submit } },
      el("fieldset", { class: "switches" }, el("legend", {}, "Allow"),
        SWITCHES.map(({ name, value, label }) => el("label", {},
          el("input", { type: "checkbox", name, value, checked: query.getAll(name).includes(value) }), ` ${label}`))),
      el("div", { class: "controls" }, text("by", "Subgroups", "site, study_class"), text("patient_field", "Patient column", "patient"),
        el("button", { type: "submit", class: "main" }, "Compare"))));
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
  if (runs.length) {
    drawRuns(runs, page);
    return;
  }
  page.list.replaceChildren(el("p", { class: "empty" },
    "No runs yet. Start one above, or name the folders of others: judge serve RUN."));
  document.getElementById("start").open = true;
}

function drawRuns(runs, page) {
  const { list, sort, isDescending } = page;
  const value = (run) => COLUMNS[sort](run) ?? null;
  const sorted = runs.toSorted((first, second) => {
    const [a, b] = [value(first), value(second)];
    if (a === null || b === null) return (a === null) - (b === null);
    return (isDescending ? -1 : 1) * (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  });
  const heading = (name) => {
    const click = () => {
      Object.assign(page, { sort: name, isDescending: sort === name && !isDescending });
      drawRuns(runs, page);
      page.list.querySelector(`[data-sort="${name}"]`).focus();
    };
    const mark = sort === name ? (isDescending ? " ▾" : " ▴") : "";
    return el("th", { scope: "col", "aria-sort": sort === name ? (isDescending ? "descending" : "ascending") : null },
      button([name, el("span", { "aria-hidden": "true" }, mark)], click, { class: "sort", "data-sort": name }));
  };
  list.replaceChildren(grid("runs", "Runs",
    [el("th", { scope: "col" }, el("span", { class: "unseen" }, "compare")), ...Object.keys(COLUMNS).map(heading)],
    sorted.map((run) => runLine(run, page))));
}

function runLine(run, page) {
  const { ticked } = page;
  const name = run.name || run.id;
  const state = el("td", {}, stateOf(run, page));
  if (["running", "queued"].includes(run.state)) follow(run, state, page);
  const model = el("td", {});
  const drawModel = () => model.replaceChildren(ticked.has(run.id) ? el("input", {
    "aria-label": `Model of ${name}`, value: ticked.get(run.id), placeholder: run.model ?? "as the run says", maxlength: "200",
    on: { input: ({ target }) => ticked.set(run.id, target.value) },
  }) : isolated(run.model ?? ""));
  const tick = ({ target }) => {
    if (target.checked) ticked.set(run.id, "");
    else ticked.delete(run.id);
    document.getElementById("ask").open = ticked.size > 1;
    drawModel();
  };
  drawModel();
  const isFinished = run.state === "finished";
  const box = () => el("input", { type: "checkbox", checked: ticked.has(run.id), "aria-label": `Compare ${name}`, on: { change: tick } });
  return el("tr", {},
    el("td", {}, isFinished ? box() : null),
    el("th", { scope: "row" }, isFinished ? el("a", { href: `/runs/${encodeURIComponent(run.id)}` }, isolated(name)) : isolated(name)),
    state, model,
    [run.rubric, run.judge].map((value) => el("td", {}, isolated(value ?? ""))),
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
  let hasFailed = false;
  const calm = () => {
    if (hasFailed) document.getElementById("alarm").replaceChildren();
    hasFailed = false;
  };
  const look = async () => {
    if (!cell.isConnected) {
      calm();
      return;
    }
    try {
      const { run: now } = await ask(`/v1/runs/${encodeURIComponent(run.id)}`);
      if (["running", "queued"].includes(now.state)) cell.replaceChildren(...stateOf(now, page));
      else await draw(page);
      calm();
    } catch (error) {
      if (!hasFailed) alarm(error);
      hasFailed = true;
    }
    later();
  };
  const later = () => setTimeout(look, LOOK_MS);
  later();
}
