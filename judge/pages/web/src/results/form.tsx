// The form that starts a run. It has the options that most runs need; the command line has more.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { JudgeList, RubricList, RunCheck, ShownRun } from "../api.ts";
import { announce } from "../shared/page.tsx";
import { Button, Control, FactList, Isolated } from "../shared/parts.tsx";
import { ask } from "../shared/service.ts";

const TEXTS = [
  { name: "model", label: "Model", hint: "from the file's name" },
  { name: "id_field", label: "ID column", hint: "study_id" },
  { name: "candidate_field", label: "Report column", hint: "prediction" },
  { name: "reference_field", label: "Reference column", hint: "report" },
  { name: "class_field", label: "Class column", hint: "study_class" },
];
const USUAL_RUBRIC = "green";

interface FormProps {
  rubrics: RubricList;
  judges: JudgeList;
  // Whether it is unfolded where there is nothing else to do.
  isOpen: boolean;
  started: () => Promise<void>;
}

export function StartForm({ rubrics: { rubrics, sections }, judges: { judges }, isOpen, started }: FormProps) {
  const box = useRef<HTMLDetailsElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const usual = rubrics.find(({ name }) => name === USUAL_RUBRIC) ?? rubrics[0];
  const [rubricName, setRubric] = useState(usual?.name ?? "");
  const [judgeName, setJudge] = useState(judges[0]?.name ?? "");
  const [answer, setAnswer] = useState<ComponentChildren>(null);
  const [isBusy, setBusy] = useState(false);
  useLayoutEffect(() => {
    if (isOpen && box.current) box.current.open = true;
  }, [isOpen]);
  const rubric = rubrics.find(({ name }) => name === rubricName);
  const judge = judges.find(({ name }) => name === judgeName);
  const prompts = judge?.built_in ? [] : rubric?.prompts ?? [];

  // Sends the form; `take` is given the answer, and returns what is shown of it.
  const send = async <Answer,>(address: string, said: string, take: (answer: Answer) => Promise<ComponentChildren>) => {
    const fields = form.current;
    if (!fields?.reportValidity()) return;
    const body = new FormData(fields);
    const references = body.get("refs");
    if (references instanceof File && !references.size) body.delete("refs");
    setBusy(true);
    setAnswer(null);
    try {
      const found = await ask<Answer>(address, { method: "POST", body });
      announce(said);
      setAnswer(await take(found));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      setAnswer(<p class="wrong"><Isolated>{text}</Isolated></p>);
    } finally {
      setBusy(false);
    }
  };
  const check = () => send<RunCheck>("/v1/runs/check", "Nothing has been asked.", async (found) => <Checked found={found} />);
  const start = () => send<ShownRun>("/v1/runs", "The run has started.", async ({ address, id }) => {
    await started();
    return <p>The run has started: <a href={address}>look at <Isolated>{id}</Isolated> while it goes on</a>.</p>;
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void start();
  };
  return (
    <details id="start" ref={box}>
      <summary>Start a run</summary>
      <form ref={form} onSubmit={submit}>
        <div class="controls">
          <Control id="start-preds" label="Candidate reports">
            <input id="start-preds" type="file" name="preds" required />
          </Control>
          <Control id="start-refs" label="References (none where one file holds both)">
            <input id="start-refs" type="file" name="refs" />
          </Control>
        </div>
        <div class="controls">
          <Control id="start-rubric" label="Rubric">
            <select id="start-rubric" name="rubric" value={rubricName} onChange={(event) => setRubric(event.currentTarget.value)}>
              {rubrics.map(({ name, title }) => <option key={name} value={name}>{title}</option>)}
            </select>
          </Control>
          <Control id="start-judge" label="Judge">
            <select id="start-judge" name="judge" value={judgeName} onChange={(event) => setJudge(event.currentTarget.value)}>
              {judges.map(({ name, label }) => <option key={name} value={name}>{label}</option>)}
            </select>
          </Control>
          <Choice key={`prompt ${rubricName} ${judgeName}`} name="prompt" label="Prompt" values={prompts} />
          <Choice key={`effort ${judgeName}`} name="reasoning_effort" label="Reasoning effort" values={judge?.efforts ?? []} />
          <Choice key={`tier ${judgeName}`} name="service_tier" label="Service tier" values={judge?.tiers ?? []} />
          <Control id="start-max_cost" label="Limit of cost in dollars">
            <input id="start-max_cost" name="max_cost" type="number" min="0.01" step="0.01" placeholder="none" />
          </Control>
          <Control id="start-limit" label="Studies">
            <input id="start-limit" name="limit" type="number" min="1" step="1" placeholder="all" />
          </Control>
        </div>
        <div class="controls">
          <Choice name="section" label="Section" values={sections} />
          {TEXTS.map(({ name, label, hint }) => (
            <Control key={name} id={`start-${name}`} label={label}>
              <input id={`start-${name}`} name={name} placeholder={hint} maxLength={200} />
            </Control>
          ))}
        </div>
        <div class="controls">
          <Button id="check" disabled={isBusy} onClick={() => void check()}>Check</Button>
          <button type="submit" class="main" disabled={isBusy}>Judge</button>
        </div>
      </form>
      <div id="refused" role="status">{answer}</div>
    </details>
  );
}

// A choice of some values. The empty one is the default of the rubric or the judge.
function Choice({ name, label, values }: { name: string; label: string; values: readonly string[] }) {
  return (
    <Control id={`start-${name}`} label={label}>
      <select id={`start-${name}`} name={name} disabled={!values.length}>
        <option value="">{values.length ? "default" : "none"}</option>
        {values.map((value) => <option key={value} value={value}>{value}</option>)}
      </select>
    </Control>
  );
}

// What would be judged, and what it may cost.
function Checked({ found: { shown: { facts, warnings } } }: { found: RunCheck }) {
  return (
    <>
      {warnings.map((warning) => <p key={warning} class="wrong"><Isolated>{warning}</Isolated></p>)}
      <FactList facts={facts.map(({ name, value }) => ({ name, value: <Isolated>{value}</Isolated> }))} />
    </>
  );
}
