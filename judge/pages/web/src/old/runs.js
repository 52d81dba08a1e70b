// The runs of a service: starting one, its progress, and choosing those to compare.

import { alarm, announce, begin, button, control, el, factList, find, frame, grid, isolated, option, redraw } from "./dom.js";
import { count } from "./format.js";
import { showDialog } from "./keys.js";
import { ask } from "./load.js";

const COLUMNS = ["compare", "run", "state", "model", "rubric", "judge", "studies", "scored", "headline", "started", "change"];
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
  const page = { list: el("div", { id: "runs" }), trash: el("div", { id: "trash" }), ticked: new Set(query.getAll("run")), cells: new Map() };
  page.compare = compareForm(query, page);
  frame(el("header", { class: "top" }, el("h1", {}, "judge"), el("a", { href: "/openapi.json" }, "API"),
    el("p", { class: "small note-line" }, "Finds the errors in generated radiology reports, study by study.")),
  el("main", { id: "main" }, await startForm(page),
    el("h2", { id: "studies-title", tabindex: "-1" }, "Runs"), page.compare, page.list, page.trash));
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
  const [{ rubrics, sections }, { judges }] = await Promise.all([ask("/v1/rubrics"), ask("/v1/judges")]);
  const file = (name, label, required) => control(`start-${name}`, label, el("input", { type: "file", name, required }));
  const text = (name, label, hint) => control(`start-${name}`, label, el("input", { name, placeholder: hint, maxlength: "200" }));
  const selects = {};
  const select = (name, label, options) => {
    selects[name] = el("select", { name }, options);
    return control(`start-${name}`, label, selects[name]);
  };
  // An empty choice is left out: the default of the rubric or the judge.
  const choose = (name, values) => {
    selects[name].replaceChildren(option("", values.length ? "default" : "none"), ...values.map((value) => option(value, value)));
    selects[name].disabled = !values.length;
  };
  const start = el("button", { type: "submit", class: "main" }, "Judge");
  const check = button("Check", () => send("/v1/runs/check", showCheck, "Nothing has been asked."), { id: "check" });
  const answer = el("div", { id: "refused", role: "status" });
  const form = el("form", {},
    el("div", { class: "controls" },
      file("preds", "Candidate reports", true), file("refs", "References (none where one file holds both)", false)),
    el("div", { class: "controls" },
      select("rubric", "Rubric", rubrics.map(({ name, title }) => option(name, title, "green"))),
      select("judge", "Judge", judges.map(({ name, label }) => option(name, label))),
      select("prompt", "Prompt", []), select("reasoning_effort", "Reasoning effort", []), select("service_tier", "Service tier", []),
      control("start-max_cost", "Limit of cost in dollars", el("input", { name: "max_cost", type: "number", min: "0.01", step: "0.01", placeholder: "none" })),
      control("start-limit", "Studies", el("input", { name: "limit", type: "number", min: "1", step: "1", placeholder: "all" }))),
    el("div", { class: "controls" },
      select("section", "Section", [option("", "default"), ...sections.map((name) => option(name, name))]),
      text("model", "Model", "from the file's name"), text("id_field", "ID column", "study_id"),
      text("candidate_field", "Report column", "prediction"), text("reference_field", "Reference column", "report"),
      text("class_field", "Class column", "study_class")),
    el("div", { class: "controls" }, check, start));
  const chosen = () => {
    const judge = judges.find(({ name }) => name === selects.judge.value);
    const rubric = rubrics.find(({ name }) => name === selects.rubric.value);
    choose("prompt", judge.built_in ? [] : rubric.prompts);
    choose("reasoning_effort", judge.efforts);
    choose("service_tier", judge.tiers);
  };
  chosen();
  for (const name of ["judge", "rubric"]) selects[name].addEventListener("change", chosen);
  const showCheck = ({ shown: { facts, warnings } }) => answer.replaceChildren(
    ...warnings.map((warning) => el("p", { class: "wrong" }, isolated(warning))),
    factList(facts.map(([name, value]) => [name, isolated(value)])));
  const send = (address, show, said) => {
    if (!form.reportValidity()) return;
    const body = new FormData(form);
    if (!(/** @type {File} */ (body.get("refs")).size)) body.delete("refs");
    for (const sender of [start, check]) sender.disabled = true;
    answer.replaceChildren();
    ask(address, { method: "POST", body })
      .then((found) => {
        announce(said);
        return show(found);
      })
      .catch((error) => answer.replaceChildren(el("p", { class: "wrong" }, isolated(error.message))))
      .finally(() => { for (const sender of [start, check]) sender.disabled = false; });
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send("/v1/runs", () => draw(page), "The run has started.");
  });
  return el("details", { id: "start" }, el("summary", {}, "Start a run"), form, answer);
}

// Draws the runs, and again after a while where one goes on or the service does not answer.
async function draw(page) {
  clearTimeout(page.timer);
  try {
    const [{ runs }, { runs: deleted }] = await Promise.all([ask("/v1/runs"), ask("/v1/trash")]);
    if (page.hasFailed) find("#alarm").replaceChildren();
    page.hasFailed = false;
    drawRuns(runs, page);
    drawTrash(deleted, page);
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
    el("td", { class: "small" }, isolated((run.started ?? "").replace("T", " ").slice(0, 16))),
    el("td", {}, isActive(run) ? null : [isFinished ? button("Rename", () => askForName(id, page), { class: "quiet", "data-act": `rename ${id}`, "aria-label": `Rename ${id}` }) : null,
      button("Delete", () => askToDelete(id, page), { class: "quiet", "data-act": `delete ${id}`, "aria-label": `Delete ${id}` })]));
}

function askForName(id, page) {
  const field = el("input", { id: "run-name", required: true, maxlength: "120", value: id });
  const rename = async () => {
    const name = field.value.trim();
    await ask(`/v1/runs/${encodeURIComponent(id)}/rename`, { method: "POST", body: { name } });
    if (page.ticked.delete(id)) page.ticked.add(name);
    await drawAfter(`${id} is called ${name} now`, page);
  };
  showDialog(`Rename ${id}`, [el("p", {}, "Addresses with the old name lead to the run from now on."),
    el("label", { for: "run-name" }, "Name"), field], "Rename", rename);
}

function askToDelete(id, page) {
  const remove = async () => {
    await ask(`/v1/runs/${encodeURIComponent(id)}`, { method: "DELETE" });
    page.ticked.delete(id);
    await drawAfter(`${id} is in the trash`, page);
  };
  showDialog(`Delete ${id}?`, el("p", {}, "It is moved to the trash, with its reviews and readings. Below the list it can be restored."), "Delete", remove);
}

async function drawAfter(said, page) {
  announce(said);
  await draw(page);
}

// The deleted runs, each with a button that restores it.
function drawTrash(deleted, page) {
  const isOpen = find("details", page.trash)?.open;
  redraw(page.trash, deleted.length ? el("details", { open: isOpen }, el("summary", {}, `Trash (${deleted.length})`),
    el("ul", {}, deleted.map(({ id, name, deleted: at }) => el("li", {}, isolated(name), el("span", { class: "small" }, ` ${at.slice(0, 10)} `),
      button("Restore", () => ask(`/v1/trash/${id}/restore`, { method: "POST" }).then(() => drawAfter(`${name} is restored`, page)),
        { class: "quiet", "data-act": `restore ${id}`, "aria-label": `Restore ${name}` }))))) : "");
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

begin(runsPage);
