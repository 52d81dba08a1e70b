// The page of a run that is not finished: how far it is, what it cost so far, the most frequent errors
// and the first studies. When the run is finished it becomes the run's page, with the same study open.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

import type { ErrorSoFar, LiveRun, Preliminary, RunStudy, ShownRun, StudySoFar } from "../api.ts";
import { alarm, announce, goTo } from "../shared/page.tsx";
import { Clipped, FactList, Isolated, ScrollingTable } from "../shared/parts.tsx";
import { ask } from "../shared/service.ts";
import { useStore } from "../shared/store.ts";
import { RunActions, keepFocus } from "./actions.tsx";
import type { Done } from "./actions.tsx";
import { Polled } from "./polled.ts";
import { runPage } from "./run.tsx";
import { StudyBody } from "./study.tsx";

export async function livePage(run: string): Promise<ComponentChildren> {
  const address = `/v1/runs/${encodeURIComponent(run)}/progress`;
  const load = () => ask<LiveRun>(address);
  const first = await load();
  if (first.run.state === "finished") return runPage(run);
  return <LivePage live={new Polled(first, load)} address={address} />;
}

// The id of the study in the address, null for none.
function studyInAddress(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("study");
}

function addressOf(study: string | null): string {
  return study === null ? "#" : `#${new URLSearchParams({ study })}`;
}

function LivePage({ live, address }: { live: Polled<LiveRun>; address: string }) {
  const { run, preliminary } = useStore(live);
  const [finished, setFinished] = useState<ComponentChildren>(null);
  const isFinished = run.state === "finished";
  useEffect(() => {
    if (!isFinished) return;
    live.end();
    runPage(run.id).then((page) => {
      setFinished(page);
      announce("The run is finished; these are its results.");
    }, alarm);
  }, [isFinished]);
  useEffect(() => {
    if (!isFinished) announce(run.state_text);
  }, [run.state_text]);
  const title = preliminary?.title ?? run.id;
  useLayoutEffect(() => {
    if (!finished) document.title = run.progress ? `${run.progress.text}: ${title}` : title;
  });
  if (finished) return <>{finished}</>;
  const done = async ({ name, id }: Done) => {
    if (name === "delete") {
      location.assign("/");
      return;
    }
    await live.refresh();
    keepFocus(id);
  };
  return (
    <>
      <header class="top">
        <h1><Isolated>{title}</Isolated></h1>
        <a href="/" data-act={`open ${run.id}`}>All runs</a>
      </header>
      <main id="main">
        <Status run={run} done={done} />
        {preliminary && <p class="note preliminary" role="note">{preliminary.warning}</p>}
        {preliminary && <SoFar preliminary={preliminary} address={address} />}
      </main>
    </>
  );
}

// How far the run is, or why it has ended, and what can be done.
function Status({ run, done }: { run: ShownRun; done: (what: Done) => Promise<void> }) {
  const { progress, state_text: state, detail, advice } = run;
  const texts = progress ? [progress.unread_text, progress.price_text, progress.left_text].filter(Boolean) : [];
  return (
    <section id="status" aria-label="How far the run is">
      <p class="tools">
        <strong>{state}</strong>
        {progress && (
          <>
            <progress value={progress.done} max={progress.total} aria-label="progress" />
            <span>{progress.text}</span>
          </>
        )}
        {texts.map((text) => <span key={text} class="small">{text}</span>)}
        <RunActions run={run} done={done} />
      </p>
      {progress?.trouble && <p class="wrong">waiting: <Isolated>{progress.trouble}</Isolated></p>}
      {detail !== null && <p class="wrong"><Isolated>{detail}</Isolated></p>}
      {advice !== null && <p>{advice}</p>}
    </section>
  );
}

function SoFar({ preliminary, address }: { preliminary: Preliminary; address: string }) {
  const open = useStudyInAddress();
  const at = preliminary.studies.findIndex(({ study_id: id }) => id === open);
  const study = preliminary.studies[at];
  return (
    <>
      <div hidden={study !== undefined}>
        <Overview preliminary={preliminary} />
        <FirstStudies preliminary={preliminary} />
      </div>
      {study && (
        <StudyScreen
          key={study.study_id}
          study={study}
          address={address}
          previous={preliminary.studies[at - 1]}
          next={preliminary.studies[at + 1]}
        />
      )}
    </>
  );
}

// The study in the address, which links and the browser's Back change.
function useStudyInAddress(): string | null {
  const [open, setOpen] = useState(studyInAddress);
  useLayoutEffect(() => {
    const changed = () => {
      const left = open;
      const now = studyInAddress();
      setOpen(now);
      // Back in the list the keyboard is where it was.
      if (now === null && left !== null) requestAnimationFrame(() => goTo(linkTo(left), "center"));
    };
    window.addEventListener("popstate", changed);
    return () => window.removeEventListener("popstate", changed);
  }, [open]);
  return open;
}

function linkTo(study: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`#list a[data-act="study ${CSS.escape(study)}"]`);
}

function Overview({ preliminary: { figures, errors, errors_title: title, grades } }: { preliminary: Preliminary }) {
  return (
    <section aria-label="The run so far">
      <div class="tiles">
        {figures.map(({ label, text, of }) => (
          <div key={label} class="tile preliminary">
            <p>{label}</p>
            <p class="tile-value">{text}</p>
            <p class="small">{of}</p>
          </div>
        ))}
      </div>
      {errors.length > 0 && (
        <figure class="figure preliminary" id="errors">
          <figcaption>{title}</figcaption>
          <ul class="legend">
            {grades.map(({ label, tone }) => (
              <li key={label}><span class={`swatch tone-${tone}`} aria-hidden="true" />{label}</li>
            ))}
          </ul>
          <ul class="bars">{errors.map((error) => <ErrorRow key={error.label} error={error} />)}</ul>
        </figure>
      )}
    </section>
  );
}

function ErrorRow({ error: { label, text, parts, examples } }: { error: ErrorSoFar }) {
  return (
    <li>
      <span><Isolated>{label}</Isolated></span>
      <span class="track" aria-hidden="true">
        {parts.map((part) => <span key={part.label} class={`part tone-${part.tone}`} style={{ width: part.width }} />)}
      </span>
      <span class="small">{text}</span>
      <span class="small">
        {examples.length > 0 && "such as "}
        {examples.map(({ study_id: id }, at) => (
          <span key={id}>{at > 0 && ", "}<a href={addressOf(id)}><Isolated>{id}</Isolated></a></span>
        ))}
      </span>
    </li>
  );
}

function FirstStudies({ preliminary: { heads, studies, studies_text: text } }: { preliminary: Preliminary }) {
  return (
    <section id="studies" aria-labelledby="studies-title">
      <h2 id="studies-title" tabIndex={-1}>First studies</h2>
      <p class="small">{text}</p>
      {studies.length > 0 && (
        <div id="list">
          <ScrollingTable kind="studies" caption="The first studies">
            <thead>
              <tr>
                {heads.map((head, at) => (
                  <th key={head} scope="col" class={at > 1 ? "number" : undefined}><Isolated>{head}</Isolated></th>
                ))}
              </tr>
            </thead>
            <tbody>{studies.map((study) => <StudyRow key={study.row} study={study} />)}</tbody>
          </ScrollingTable>
        </div>
      )}
    </section>
  );
}

function StudyRow({ study: { study_id: id, cells, is_scored: isScored } }: { study: StudySoFar }) {
  return (
    <tr>
      <th scope="row"><a href={addressOf(id)} data-act={`study ${id}`}><Isolated>{id}</Isolated></a></th>
      {cells.map((text, at) => (
        <td key={at} title={text} class={at > 0 && isScored ? "number" : undefined}>{text && <Isolated>{text}</Isolated>}</td>
      ))}
    </tr>
  );
}

interface ScreenProps {
  study: StudySoFar;
  address: string;
  previous: StudySoFar | undefined;
  next: StudySoFar | undefined;
}

// One of the first studies. What is known of it does not change any more.
function StudyScreen({ study: { row, study_id: id }, address, previous, next }: ScreenProps) {
  const [shown, setShown] = useState<RunStudy | null>(null);
  useEffect(() => {
    ask<RunStudy>(`${address}/study`, { query: { row: String(row) } }).then(setShown, alarm);
    window.scrollTo(0, 0);
    document.getElementById("study-title")?.focus({ preventScroll: true });
  }, []);
  return (
    <section id="study" aria-labelledby="study-title">
      <header class="study-head">
        <nav class="steps" aria-label="Studies">
          <a href={addressOf(null)}>All first studies</a>
          {previous && <a href={addressOf(previous.study_id)}>Previous</a>}
          {next && <a href={addressOf(next.study_id)}>Next</a>}
        </nav>
        <h2 id="study-title" tabIndex={-1}>Study <Isolated>{id}</Isolated></h2>
        {shown && <FactList facts={shown.facts.map(({ name, value }) => ({ name, value: <Clipped text={value} /> }))} />}
      </header>
      {shown && (
        <StudyBody
          columns={[{ key: "", letter: "", findings: shown.findings, answer: shown.answer }]}
          showsDifferences={false}
        />
      )}
    </section>
  );
}
