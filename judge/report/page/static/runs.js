// The runs of a service, with how far each is, and starting one.

import { ask } from "./data.js";
import { alarm, announce, clipped, control, el, fact, frame, grid, option, said } from "./dom.js";
import { count } from "./words.js";

export async function runsPage() {
  const list = el("div", { id: "runs" });
  frame(el("header", { class: "top" }, el("h1", {}, "Runs"),
    el("a", { href: "/compare" }, "Compare runs"), el("a", { href: "/openapi.json" }, "API")),
    el("main", { id: "main" }, await startForm(list), list));
  await draw(list);
}

// The options that most runs need; POST /v1/runs takes all that the command line does.
async function startForm(list) {
  const [{ rubrics }, { judges }] = await Promise.all([ask("/v1/rubrics"), ask("/v1/judges")]);
  const file = (name, label, required) => control(`start-${name}`, label, el("input", { type: "file", name, required }));
  const select = (name, label, options) => control(`start-${name}`, label, el("select", { name }, options));
  const text = (name, label, hint) => control(`start-${name}`, label,
    el("input", { name, placeholder: hint, maxlength: "200" }));
  const check = el("button", { type: "button", on: { click: () => send("/v1/runs/check", drawCheck) } }, "Check");
  const button = el("button", { type: "submit", class: "main" }, "Judge");
  const answer = el("div", { id: "checked", role: "status" });
  const form = el("form", {},
    el("div", { class: "controls" },
      file("preds", "Candidate reports", true), file("refs", "References (none where one file holds both)", false)),
    el("div", { class: "controls" },
      select("rubric", "Rubric", rubrics.map(({ name, title }) => option(name, title))),
      select("judge", "Judge", judges.map((one) => option(one.name, judgeWords(one)))),
      text("model", "Model", "from the file's name"), text("id_field", "Field of the ids", "study_id"),
      text("candidate_field", "Field of the candidates", "prediction"),
      text("reference_field", "Field of the references", "report")),
    el("div", { class: "controls" }, check, button));
  // What was checked is no longer what would be sent.
  form.addEventListener("input", () => answer.replaceChildren());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send("/v1/runs", () => {
      announce("The run has started.");
      draw(list).catch(alarm);
      return [];
    });
  });

  function send(address, shownOf) {
    if (!form.reportValidity()) return;
    const body = new FormData(form);
    if (!body.get("refs").size) body.delete("refs");
    check.disabled = button.disabled = true;
    answer.replaceChildren(el("p", { class: "small" }, "Reading the files ..."));
    ask(address, { method: "POST", body })
      .then((found) => answer.replaceChildren(...shownOf(found)))
      .catch((error) => answer.replaceChildren(el("p", { class: "wrong" }, said(error.message))))
      .finally(() => { check.disabled = button.disabled = false; });
  }
  return el("details", { id: "start" }, el("summary", {}, "Start a run"), form, answer);
}

function judgeWords({ name, built_in: builtIn, budget, left }) {
  const dollars = (sum) => (sum === null ? "?" : `$${(Math.floor(100 * sum + 1e-6) / 100).toFixed(2)}`);
  return `${name}${builtIn ? " (built in)" : ""}${budget === null ? "" : ` (${dollars(left)} of ${dollars(budget)} left)`}`;
}

function drawCheck({ facts, costs, first }) {
  const list = (all) => el("dl", { class: "facts" }, all.map(({ name, text }) => fact(name, said(text))));
  const side = (name, text) => [el("h4", {}, name), el("div", { class: "text" }, clipped(text || "(empty)"))];
  return [
    el("h2", {}, "Before it is judged"), list(facts),
    el("h3", {}, "What it may cost"), list(costs),
    el("details", {}, el("summary", {}, `The first ${count(first.length, "study", "studies")}`),
      first.map(({ study_id: id, reference, candidate }) => el("div", { class: "sample" },
        el("h3", {}, said(id)),
        el("div", {}, side("Reference", reference)), el("div", {}, side("Candidate", candidate))))),
    el("p", { class: "small" }, "Nothing was sent to a judge, and nothing is kept. Judge starts the run."),
  ];
}

async function draw(list) {
  const [{ runs }, { judges }] = await Promise.all([ask("/v1/runs"), ask("/v1/judges")]);
  const offered = document.getElementById("start-judge").options;
  judges.forEach((judge, at) => { offered[at].textContent = judgeWords(judge); });
  if (!runs.length) {
    list.replaceChildren(el("p", { class: "empty" },
      "No run yet. Start one above: choose your two files and press Check, which says what would be judged and what ",
      "it costs, and asks nobody. Runs of the command line and of notebooks show here too, where their folders lie ",
      "beside the service's own or are named: judge serve RUN."));
    document.getElementById("start").open = true;
    return;
  }
  const head = ["run", "state", "model", "rubric", "judge", "studies", "scored", "figures", "started"];
  list.replaceChildren(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" },
    grid(null, "Runs", head.map((name) => el("th", { scope: "col" }, name)), runs.map((run) => runLine(run, list)))));
}

function runLine(run, list) {
  const state = el("td", {}, ...stateOf(run, list));
  if (["running", "queued"].includes(run.state)) follow(run, state, list);
  const readable = run.state === "finished";
  return el("tr", {},
    el("th", { scope: "row" }, readable
      ? [el("a", { href: `/runs/${encodeURIComponent(run.id)}` }, said(run.name || run.id)), " ",
        el("a", { class: "small", href: `/read?${new URLSearchParams({ run: run.id })}`, "aria-label": `Read ${run.name || run.id} blind` }, "Read")]
      : said(run.name || run.id)),
    state,
    ...[run.model, run.rubric, run.judge].map((value) => el("td", {}, said(value ?? ""))),
    ...[run.n_studies, run.n_scored].map((value) => el("td", { class: "numbers" }, value?.toLocaleString("en") ?? "")),
    el("td", {}, (run.headline ?? []).map(({ label, text }) => el("div", { class: "small" }, `${label} ${text}`))),
    el("td", {}, said((run.started ?? "").replace("T", " ").slice(0, 16))));
}

function stateOf(run, list) {
  const act = (verb, text) => {
    const click = () => ask(`/v1/runs/${encodeURIComponent(run.id)}/${verb}`, { method: "POST" })
      .then(() => draw(list)).catch(alarm);
    return el("button", { type: "button", class: "quiet", on: { click } }, text);
  };
  const parts = [said(run.state)];
  if (run.detail) parts.push(el("span", { class: "small" }, " ", said(run.detail)));
  const { progress } = run;
  if (["running", "queued"].includes(run.state)) {
    if (progress?.total) {
      parts.push(el("progress", { value: progress.done, max: progress.total, "aria-label": "progress" }),
        ` ${progress.done.toLocaleString("en")} of ${count(progress.total, "study", "studies")} `);
    }
    parts.push(act("stop", "Stop"));
  }
  if (["stopped", "failed"].includes(run.state)) parts.push(" ", act("resume", "Go on"));
  return parts;
}

function follow(run, cell, list) {
  const events = new EventSource(`/v1/runs/${encodeURIComponent(run.id)}/events`);
  events.addEventListener("progress", (event) => {
    const progress = JSON.parse(event.data);
    // A button under the pointer stays where it is: only the numbers are replaced.
    cell.replaceChildren(...stateOf({ ...run, state: progress.state ?? run.state, progress }, list));
  });
  events.addEventListener("end", () => {
    events.close();
    draw(list).catch(alarm);
  });
  window.addEventListener("pagehide", () => events.close(), { once: true });
}
