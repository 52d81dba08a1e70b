// The runs of a service: starting one, how far those under way are, and choosing some to compare.

import { useState } from "preact/hooks";

import type { JudgeList, RubricList, RunList, ShownRun, TrashedRunShown } from "../api.ts";
import { alarm, announce } from "../shared/page.tsx";
import { Button, Control, Isolated } from "../shared/parts.tsx";
import { ask } from "../shared/service.ts";
import { Store, useStore } from "../shared/store.ts";
import { RunActions, keepFocus } from "./actions.tsx";
import type { Done } from "./actions.tsx";
import { StartForm } from "./form.tsx";
import { Polled } from "./polled.ts";

const MAX_LISTED = 100;
const SWITCHES = [
  { name: "common", value: "true", label: "different studies (compare the shared ones)" },
  { name: "allow", value: "judge", label: "different judges" },
  { name: "allow", value: "prompt", label: "different prompts" },
  { name: "allow", value: "references", label: "different references" },
];

// The runs that are ticked, in the order in which they were.
type Ticked = Store<ReadonlySet<string>>;

function loadRuns(): Promise<RunList> {
  return ask<RunList>("/v1/runs");
}

export async function runsPage() {
  document.title = "judge: runs";
  const [list, rubrics, judges] = await Promise.all([
    loadRuns(), ask<RubricList>("/v1/rubrics"), ask<JudgeList>("/v1/judges"),
  ]);
  const query = new URLSearchParams(location.search);
  const ticked: Ticked = new Store<ReadonlySet<string>>(new Set(query.getAll("run")));
  return <RunsPage runs={new Polled(list, loadRuns)} ticked={ticked} query={query} rubrics={rubrics} judges={judges} />;
}

interface PageProps {
  runs: Polled<RunList>;
  ticked: Ticked;
  query: URLSearchParams;
  rubrics: RubricList;
  judges: JudgeList;
}

function RunsPage({ runs, ticked, query, rubrics, judges }: PageProps) {
  const { runs: listed, deleted, trash_text: trashText } = useStore(runs);
  const ids = useStore(ticked);
  // An address may name runs that are gone, or cannot be compared.
  const comparable = new Set(listed.filter(canCompare).map(({ id }) => id));
  const chosen = [...ids].filter((id) => comparable.has(id));
  const done = async ({ name, id }: Done, before: string) => {
    if (name === "rename" || name === "delete") tick(ticked, before, false, name === "rename" ? id : undefined);
    await runs.refresh();
    keepFocus(id);
  };
  return (
    <>
      <header class="top">
        <h1>judge</h1>
        <a href="/openapi.json">API</a>
        <p class="small note-line">Finds the errors in generated radiology reports, study by study.</p>
      </header>
      <main id="main">
        <StartForm rubrics={rubrics} judges={judges} isOpen={!listed.length} started={() => runs.refresh()} />
        <h2 id="studies-title" tabIndex={-1}>Runs</h2>
        {listed.length > 0 && <CompareForm query={query} chosen={chosen} />}
        <div id="runs"><Runs runs={listed} ticked={ticked} done={done} /></div>
        <div id="trash">
          {deleted.length > 0 && <Trash text={trashText} deleted={deleted} restored={() => runs.refresh()} />}
        </div>
      </main>
    </>
  );
}

function canCompare({ actions }: ShownRun): boolean {
  return actions.some(({ name }) => name === "compare");
}

// Ticks a run or no longer; `instead` is the run's new name.
function tick(ticked: Ticked, id: string, isTicked: boolean, instead?: string): void {
  const ids = new Set(ticked.state);
  const was = ids.delete(id);
  if (isTicked) ids.add(id);
  if (was && instead !== undefined) ids.add(instead);
  ticked.set(ids);
}

// The form that leads to the comparison of the ticked runs.
function CompareForm({ query, chosen }: { query: URLSearchParams; chosen: readonly string[] }) {
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const address = new URLSearchParams(chosen.map((run) => ["run", run]));
    for (const [name, value] of new FormData(event.currentTarget)) {
      const text = String(value).trim();
      if (text) address.append(name, text);
    }
    if (chosen.length) location.assign(`/compare?${address}`);
    else alarm(new Error("Tick the runs to compare."));
  };
  return (
    <details id="ask" open={chosen.length > 1 || query.has("run")}>
      <summary>Compare the ticked runs</summary>
      <form onSubmit={submit}>
        <fieldset class="controls">
          <legend class="small">Allow</legend>
          {SWITCHES.map(({ name, value, label }) => (
            <label key={value}>
              <input
                type="checkbox"
                name={name}
                value={value}
                defaultChecked={query.getAll(name).includes(value)}
              /> {label}
            </label>
          ))}
        </fieldset>
        <div class="controls">
          <CompareText name="by" label="Subgroups" hint="site, study_class" query={query} />
          <CompareText name="patient_field" label="Patient column" hint="patient" query={query} />
          <button type="submit" class="main">Compare</button>
        </div>
      </form>
    </details>
  );
}

function CompareText({ name, label, hint, query }: { name: string; label: string; hint: string; query: URLSearchParams }) {
  const id = `ask-${name}`;
  return (
    <Control id={id} label={label}>
      <input id={id} name={name} defaultValue={query.get(name) ?? ""} placeholder={hint} maxLength={200} />
    </Control>
  );
}

interface RunsProps {
  runs: readonly ShownRun[];
  ticked: Ticked;
  done: (what: Done, before: string) => Promise<void>;
}

function Runs({ runs, ticked, done }: RunsProps) {
  const [isWhole, setWhole] = useState(false);
  if (!runs.length) {
    return <p class="empty">No runs yet. Start one above, or name the folders of others: judge serve RUN.</p>;
  }
  const shown = isWhole ? runs : runs.slice(0, MAX_LISTED);
  return (
    <>
      <ul class="plain runs">
        {shown.map((run) => <RunLine key={run.id} run={run} ticked={ticked} done={done} />)}
      </ul>
      {shown.length < runs.length && (
        <Button class="quiet" onClick={() => setWhole(true)}>Show all {runs.length}</Button>
      )}
    </>
  );
}

function RunLine({ run, ticked, done }: { run: ShownRun; ticked: Ticked; done: RunsProps["done"] }) {
  const ids = useStore(ticked);
  const { id, address, headline } = run;
  const compare = run.actions.find(({ name }) => name === "compare");
  const facts = [run.model, run.rubric, run.judge, run.counts_text, run.started_text].filter((text) => !!text);
  return (
    <li class="run">
      <span class="run-tick">
        {compare && (
          <input
            type="checkbox"
            checked={ids.has(id)}
            aria-label={compare.title}
            data-act={`tick ${id}`}
            onChange={(event) => tick(ticked, id, event.currentTarget.checked)}
          />
        )}
      </span>
      <a class="run-name" href={address} data-act={`open ${id}`}><Isolated>{id}</Isolated></a>
      <span class="run-facts small">
        {facts.map((text, at) => <span key={at}>{at > 0 && " · "}<Isolated>{text ?? ""}</Isolated></span>)}
      </span>
      <span class="run-more small">
        {headline.map(({ label, text }) => <span key={label} class="run-figure">{label} {text} </span>)}
        <RunState run={run} />
      </span>
      <span class="run-acts"><RunActions run={run} done={(what) => done(what, id)} /></span>
    </li>
  );
}

// The state of a run that is not finished, or cannot be read.
export function RunState({ run: { state, state_text: text, detail, progress } }: { run: ShownRun }) {
  if (state === "finished" && detail === null) return null;
  return (
    <span class="run-state">
      <strong>{text}</strong>
      {progress && (
        <>
          {" "}<progress value={progress.done} max={progress.total} aria-label="progress" /> {progress.text}
        </>
      )}
      {detail !== null && <>{": "}<Isolated>{detail}</Isolated></>}
    </span>
  );
}

// The deleted runs, each with a button that restores it.
function Trash({ text, deleted, restored }: { text: string; deleted: readonly TrashedRunShown[]; restored: () => Promise<void> }) {
  const restore = async ({ id, name }: TrashedRunShown) => {
    await ask<ShownRun>(`/v1/trash/${id}/restore`, { method: "POST" });
    announce(`${name} is restored`);
    await restored();
    keepFocus(name);
  };
  return (
    <details>
      <summary>{text}</summary>
      <ul>
        {deleted.map((run) => (
          <li key={run.id}>
            <Isolated>{run.name}</Isolated> <span class="small">{run.deleted_text} </span>
            <Button class="quiet" data-act={`restore ${run.id}`} aria-label={run.restore_title} onClick={() => void restore(run)}>
              Restore
            </Button>
          </li>
        ))}
      </ul>
    </details>
  );
}
