// Which runs to compare, and how: the form of a service's page.

import { ask } from "./data.js";
import { alarm, control, el, grid, said } from "./dom.js";
import { sideways } from "./parts.js";

const SWITCHES = [
  { name: "common", value: "true", label: "Studies (those that all runs have are compared)" },
  { name: "allow", value: "judge", label: "Judges" },
  { name: "allow", value: "prompt", label: "Prompts" },
  { name: "allow", value: "references", label: "References" },
];

export function runsForm(query, isOpen) {
  const names = query.getAll("name");
  const chosen = new Map(query.getAll("run").map((run, at) => [run, names[at] ?? ""]));
  const rows = el("div", {});
  const text = (name, label, hint) => control(`ask-${name}`, label,
    el("input", { name, value: query.get(name) ?? "", placeholder: hint, maxlength: "200" }));
  const submit = (event) => {
    event.preventDefault();
    // What stands after the # is of the comparison before.
    if (form.querySelector("[name=run]:checked")) location.assign(`?${asked(form, query)}`);
    else alarm(new Error("Tick the runs to compare first."));
  };
  // Shown when there is something to choose from.
  const options = el("div", { hidden: true },
    el("fieldset", { class: "switches" }, el("legend", {}, "What may differ"),
      SWITCHES.map(({ name, value, label }) => el("label", {},
        el("input", { type: "checkbox", name, value, checked: query.getAll(name).includes(value) }), ` ${label}`))),
    el("div", { class: "controls" },
      text("by", "Test and rank within each", "site, study_class"),
      text("patient_field", "Field that names the patient", "patient"),
      el("button", { type: "submit", class: "main" }, "Compare")));
  const form = el("form", { on: { submit } }, rows, options);
  const fold = el("details", { id: "ask", open: isOpen }, el("summary", {}, "Runs and options"), form);
  list(rows, chosen, options).catch(alarm);
  return fold;
}

async function list(rows, chosen, options) {
  const { runs } = await ask("/v1/runs");
  const finished = runs.filter(({ state }) => state === "finished");
  options.hidden = !finished.length;
  options.querySelector("button").disabled = options.hidden;
  if (!finished.length) {
    rows.replaceChildren(el("p", { class: "empty" }, "There is no finished run to compare. ", runs.length
      ? "Those under way stand here when they have finished."
      : "Name some on the command line: judge serve RUN ..., or start one with POST /v1/runs."));
    return;
  }
  const all = el("input", { type: "checkbox", id: "run-all", title: "Tick all" });
  const head = [el("div", { class: "choice" }, all, el("label", { for: all.id }, "Run", el("span", { class: "unseen" }, ": tick all"))),
    "Rubric", "Judge", "Studies", "Model"];
  rows.replaceChildren(...sideways("Runs to choose from", grid("studies runs", "Runs to compare",
    head.map((name) => el("th", { scope: "col", class: name === "Studies" ? "numbers" : null }, name)),
    finished.map((run, at) => choice(run, at, chosen)))));
  const boxes = [...rows.querySelectorAll("[name=run]")];
  // Half ticked where some are.
  const follow = () => {
    all.checked = boxes.every((box) => box.checked);
    all.indeterminate = !all.checked && boxes.some((box) => box.checked);
  };
  all.addEventListener("change", () => boxes.forEach((box) => { box.checked = all.checked; }));
  boxes.forEach((box) => box.addEventListener("change", follow));
  follow();
}

function choice(run, at, chosen) {
  const box = el("input", { type: "checkbox", id: `run-${at}`, name: "run", value: run.id, checked: chosen.has(run.id) });
  return el("tr", {},
    el("th", { scope: "row" }, el("div", { class: "choice" }, box, el("label", { for: box.id }, said(run.name || run.id)))),
    el("td", {}, said(run.rubric ?? "")),
    el("td", {}, said(run.judge ?? "")),
    el("td", { class: "numbers" }, run.n_studies?.toLocaleString("en") ?? ""),
    el("td", {}, el("input", {
      "aria-label": `Model of ${run.name || run.id}`, "data-model": run.id, value: chosen.get(run.id) ?? "",
      placeholder: run.model ?? "as the run says", title: run.model, maxlength: "200",
    })));
}

// The address's query: the runs that are ticked, each with its model, and what the form lacks.
function asked(form, before) {
  const query = new URLSearchParams();
  for (const name of ["sort", "tests", "resamples", "flips", "seed"]) {
    if (before.has(name)) query.set(name, before.get(name));
  }
  for (const box of form.querySelectorAll("[name=run]:checked")) {
    query.append("run", box.value);
    query.append("name", form.querySelector(`[data-model="${CSS.escape(box.value)}"]`).value.trim());
  }
  for (const box of form.querySelectorAll(".switches :checked")) query.append(box.name, box.value);
  for (const field of form.querySelectorAll(".controls [name]")) {
    if (field.value.trim()) query.set(field.name, field.value.trim());
  }
  return query.toString();
}
