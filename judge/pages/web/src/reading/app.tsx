// The reading page: who reads, practice, the queue, and the study that is next.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { ChangedLine, PracticeFeedback, ReadingQueue } from "../api.ts";
import { showDialog } from "../shared/dialog.tsx";
import { KeysButton, useKeys } from "../shared/keys.tsx";
import { remembered } from "../shared/memory.ts";
import { alarm, announce, dismissAlarm, goTo, startPage } from "../shared/page.tsx";
import { Button, Isolated } from "../shared/parts.tsx";
import { Reader, ReaderName } from "../shared/reader.tsx";
import { ask } from "../shared/service.ts";
import { useStore } from "../shared/store.ts";
import { StudyEditor } from "./editor.tsx";
import { Guidelines } from "./guidelines.tsx";
import { keysOf } from "./marks.ts";
import type { CompareLine } from "./report.tsx";
import type { Conflict, Saving } from "./saving.ts";
import { Session } from "./session.ts";
import { PRACTISED, Steps, keyOf, leaveFor } from "./steps.tsx";
import type { Acts } from "./steps.tsx";

// Starts the page of the run that the document names.
export function startReading(): void {
  const reader = new Reader({ title: "Who is reading?", record: "reading" });
  const base = `/v1/runs/${encodeURIComponent(document.documentElement.dataset.run ?? "")}`;
  void startPage(async () => {
    const name = await reader.known();
    return <ReadingPage reader={reader} base={base} first={name ? await begun(base, name) : null} />;
  });
}

// A session at its first study, or in practice where the reader has done nothing yet.
async function begun(base: string, reader: string): Promise<Session> {
  const data = await ask<ReadingQueue>(`${base}/reading`, { query: { reader } });
  if (data.nothing_to_read) throw new Error(data.nothing_to_read);
  const session = new Session(data, { base, reader, announce, now: () => performance.now() });
  const hasPractice = data.practice.length > 0 && remembered(PRACTISED + data.rubric.title) !== reader;
  if (session.isNew && hasPractice) session.openPractice(0);
  else await session.open(session.unfinished(-1));
  return session;
}

interface PageProps {
  reader: Reader;
  base: string;
  first: Session | null;
}

function ReadingPage({ reader, base, first }: PageProps) {
  const name = useStore(reader);
  const [session, setSession] = useState(first);
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    if (session || !name) return;
    begun(base, name).then(setSession, (error: unknown) => {
      setBroken(true);
      alarm(error);
    });
  }, [name]);
  // Another reader has another queue.
  useEffect(() => reader.subscribe(() => session && location.reload()), [session]);
  if (isBroken)
    return (
      <main id="main">
        <h1>This page cannot be shown</h1>
      </main>
    );
  if (!name) return <NameNeeded reader={reader} />;
  return session && <SessionPage session={session} reader={reader} base={base} />;
}

function NameNeeded({ reader }: { reader: Reader }) {
  return (
    <main id="main" class="thanks">
      <h1>Blind reading</h1>
      <p>Your name is needed first: each reading is stored with it, so that you can come back to yours.</p>
      <p>
        <Button class="main" onClick={() => void reader.ask()}>
          Enter your name
        </Button>
      </p>
    </main>
  );
}

interface SessionProps {
  session: Session;
  reader: Reader;
  base: string;
}

function SessionPage({ session, reader, base }: SessionProps) {
  const state = useStore(session);
  useStore(session.saving);
  useEffect(() => watchPage(session), [session]);
  const acts = actsOf(session);
  useKeys(allKeys(session, acts));
  const heading = headingOf(session);
  useLayoutEffect(() => {
    document.title = `Reading ${heading}`;
    window.scrollTo(0, 0);
    dismissAlarm();
  }, [state.editing, state.phase]);
  if (state.phase === "left") return <Thanks session={session} reader={reader} />;
  return (
    <>
      <Header session={session} reader={reader} leave={() => leaveFor(session, () => session.leave())} />
      {session.saving.state.conflicts.map((conflict) => (
        <ConflictNote key={conflict.mine.study_id} session={session} conflict={conflict} />
      ))}
      <main id="main">
        {state.editing ? <Study session={session} heading={heading} base={base} /> : <AllRead />}
      </main>
      <Steps session={session} acts={acts} />
    </>
  );
}

// Time in a hidden tab does not count, and what is not saved is not left without a question.
function watchPage(session: Session): () => void {
  const look = () => session.look(document.hidden);
  const unload = (event: BeforeUnloadEvent) => {
    session.state.editing?.keepComment();
    if (session.saving.hasUnsaved) event.preventDefault();
  };
  document.addEventListener("visibilitychange", look);
  window.addEventListener("beforeunload", unload);
  return () => {
    document.removeEventListener("visibilitychange", look);
    window.removeEventListener("beforeunload", unload);
  };
}

function headingOf({ state, data }: Session): string {
  const { phase, at, queue } = state;
  if (phase === "practice") return `Practice ${at + 1} of ${data.practice.length}`;
  if (phase === "reading") return `${at + 1} of ${queue.length}`;
  return data.rubric.title;
}

// What the keys and the buttons of the page do; false where that means nothing at the moment.
function actsOf(session: Session): Acts {
  const { phase, at, queue, editing } = session.state;
  const finish = (hasErrors: boolean) => {
    if (!editing) return false;
    const wrong = editing.finish(hasErrors);
    if (wrong) alarm(new Error(wrong));
    else if (phase === "practice") void session.check();
    else void session.open(session.unfinished(at));
    return true;
  };
  const focusOn = (place: "reference" | "candidate") => {
    editing?.focusOn(place);
    return editing !== null;
  };
  const step = (by: number) => {
    if (phase === "practice" || !queue[at + by]) return false;
    return leaveFor(session, () => session.open(at + by));
  };
  return {
    nothing: () => finish(false),
    done: () => finish(true),
    cannot: () => phase === "reading" && editing !== null && leaveFor(session, () => cannotJudge(session)),
    later: () => step(1),
    previous: () => step(-1),
    reference: () => focusOn("reference"),
    candidate: () => focusOn("candidate"),
    insert: () => editing?.begin("insert") ?? false,
    next_mark: () => editing?.step(1) ?? false,
    previous_mark: () => editing?.step(-1) ?? false,
    remove: () => editing?.remove() ?? false,
    undo: () => session.undo(),
    cancel: () => editing?.cancel() ?? false,
  };
}

// The keys of the rubric come first; they do nothing where there is nothing to label. Who has left
// changes nothing by a key.
function allKeys(session: Session, acts: Acts) {
  const { rubric, keys } = session.data;
  if (session.state.phase === "left") return [];
  const labels = keysOf(rubric).map(({ key, text }) => ({
    key,
    text,
    act: () => session.state.editing?.press(key) ?? false,
  }));
  return [...labels, ...keys.map(({ key, text, act }) => ({ key, text, act: acts[act] }))];
}

async function cannotJudge(session: Session): Promise<void> {
  const { editing, at } = session.state;
  if (!editing) return;
  let why = editing.state.content.cannot_judge;
  const content = (
    <>
      <p>It gets no score, and is counted beside those that have one.</p>
      <label for="why">Why?</label>
      <input
        id="why"
        required
        maxLength={1000}
        autocomplete="off"
        defaultValue={why}
        onInput={({ currentTarget }) => {
          why = currentTarget.value;
        }}
      />
    </>
  );
  const isDone = await showDialog({ title: "Cannot judge this study", content, done: "Save, next study" });
  if (!isDone || !why.trim()) return;
  editing.cannotJudge(why.trim());
  await session.open(session.unfinished(at));
}

function Header({ session, reader, leave }: { session: Session; reader: Reader; leave: () => void }) {
  const { rubric, practice } = session.data;
  const practise = practice.length > 0 ? () => leaveFor(session, () => session.openPractice(0)) : null;
  return (
    <header class="top">
      <h1>
        Reading <Isolated>{rubric.title}</Isolated>
      </h1>
      <Progress session={session} />
      <Saved saving={session.saving} />
      <ReaderName reader={reader} verb="as" />
      <KeysButton />
      <Button onClick={leave}>Leave</Button>
      <Guidelines rubric={rubric} practise={practise} />
    </header>
  );
}

function Progress({ session }: { session: Session }) {
  const { queue } = useStore(session);
  const done = queue.filter(({ state }) => state === "done").length;
  const unjudged = queue.filter(({ state }) => state === "not judged").length;
  return (
    <label class="small">
      <progress value={done + unjudged} max={queue.length} /> {done} of {queue.length} done
      {unjudged > 0 && `, ${unjudged} not judged`}
    </label>
  );
}

function Saved({ saving }: { saving: Saving }) {
  const { problem, isSaved } = useStore(saving);
  return (
    <span class="small" role="status">
      {problem && (
        <>
          <span class="wrong">
            Not saved: <Isolated>{problem}</Isolated>{" "}
          </span>
          <Button class="quiet" onClick={() => void saving.send()}>
            Try again
          </Button>
        </>
      )}
      {isSaved && "Saved"}
    </span>
  );
}

function ConflictNote({ session, conflict }: { session: Session; conflict: Conflict }) {
  const place = session.state.queue.findIndex(({ study_id: id }) => id === conflict.mine.study_id);
  const resolve = (isBoth: boolean) =>
    leaveFor(session, () => session.resolve(latest(session, conflict), isBoth));
  return (
    <section class="conflict" role="alert" aria-labelledby="conflict-title">
      <p id="conflict-title">
        Study {place + 1} was changed elsewhere, in another tab or on another device, since it was opened
        here. What you changed here is not saved yet.
      </p>
      <p class="tools">
        <Button class="main" data-act="both" onClick={() => resolve(true)}>
          Keep both
        </Button>
        <Button data-act="theirs" onClick={() => resolve(false)}>
          Load the other version
        </Button>
      </p>
    </section>
  );
}

// With what was changed here since: leaving the study may have kept a comment.
function latest(session: Session, { mine, theirs }: Conflict): Conflict {
  return { mine: session.saving.unsentOf(mine.study_id) ?? mine, theirs };
}

function Study({ session, heading, base }: { session: Session; heading: string; base: string }) {
  const { phase, study, editing, at, queue, feedback } = session.state;
  if (!study || !editing) return null;
  const compare: CompareLine = async (line, corrected) => {
    const body = { line, corrected };
    return (await ask<ChangedLine>(`${base}/reading/line`, { method: "POST", body })).pieces;
  };
  const isPractice = phase === "practice";
  return (
    <StudyEditor
      key={`${phase} ${at}`}
      editing={editing}
      heading={heading}
      hint={
        isPractice ? (
          "made up, and not counted: mark its errors, then check"
        ) : (
          <>
            study <Isolated>{queue[at]?.study_id ?? ""}</Isolated>
          </>
        )
      }
      context={study.context}
      modality={"modality" in study ? study.modality : null}
      keyOf={(act) => keyOf(session, act)}
      compare={compare}
    >
      {feedback && <Feedback feedback={feedback} />}
    </StudyEditor>
  );
}

function Feedback({ feedback: { title, remarks, lesson } }: { feedback: PracticeFeedback }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => goTo(heading.current, "nearest"), [title, remarks]);
  return (
    <section class="feedback" aria-labelledby="feedback-title">
      <h3 id="feedback-title" ref={heading} tabIndex={-1}>
        {title}
      </h3>
      <ul>
        {remarks.map((remark, at) => (
          <li key={at} class={remark.is_right ? "right" : "differs"}>
            <strong>{remark.verdict}:</strong> <Isolated>{remark.text}</Isolated>
          </li>
        ))}
        <li>{lesson}</li>
      </ul>
    </section>
  );
}

function AllRead() {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <h2 id="study-title" ref={heading} tabIndex={-1}>
      All studies are read. Thank you.
    </h2>
  );
}

// Where a reader goes who leaves: nothing here leads to what judges or other readers said.
function Thanks({ session, reader }: { session: Session; reader: Reader }) {
  const { queue } = session.state;
  const { hasUnsaved } = session.saving;
  const ended = queue.filter(({ state }) => state === "done" || state === "not judged").length;
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <main id="main" class="thanks">
      <h1 ref={heading} tabIndex={-1}>
        Thank you, <Isolated>{reader.name}</Isolated>
      </h1>
      <p>
        {ended} of {queue.length} done.
      </p>
      {hasUnsaved ? (
        <p>
          <span class="wrong">Something is not saved yet: keep this page open.</span>{" "}
          <Saved saving={session.saving} />
        </p>
      ) : (
        <p>All that you marked is saved, and you can close this page.</p>
      )}
      <p>
        <Button class="main" onClick={() => void session.open(session.unfinished(-1))}>
          Go on reading
        </Button>
      </p>
    </main>
  );
}
