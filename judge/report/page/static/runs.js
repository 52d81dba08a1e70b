// The runs of a service, with how far each is.

import { ask } from "./data.js";
import { alarm, el, frame, grid, said } from "./dom.js";
import { count } from "./words.js";

export async function runsPage() {
  const list = el("div", { id: "runs" });
  frame(el("header", { class: "top" }, el("h1", {}, "Runs"), el("a", { href: "/compare" }, "Compare runs")),
    el("main", { id: "main" }, list));
  await draw(list);
}

async function draw(list) {
  const { runs } = await ask("/v1/runs");
  if (!runs.length) {
    list.replaceChildren(el("p", { class: "empty" },
      "No run yet. Name one on the command line: judge serve RUN, or start one with POST /v1/runs."));
    return;
  }
  const head = ["run", "state", "rubric", "judge", "studies", "scored", "figures", "started"];
  list.replaceChildren(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" },
    grid(null, "Runs", head.map((name) => el("th", { scope: "col" }, name)), runs.map((run) => runLine(run, list)))));
}

function runLine(run, list) {
  const state = el("td", {}, ...stateOf(run, list));
  if (["running", "queued"].includes(run.state)) follow(run, state, list);
  const readable = run.state === "finished";
  return el("tr", {},
    el("th", { scope: "row" }, readable
      ? el("a", { href: `/runs/${encodeURIComponent(run.id)}` }, said(run.name || run.id)) : said(run.name || run.id)),
    state,
    ...[run.rubric, run.judge].map((value) => el("td", {}, said(value ?? ""))),
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
