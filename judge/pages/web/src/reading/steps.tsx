// The steps below a study: to the next, to another, to its end, and back by undo.

import type { KeyOfPage } from "../api.ts";
import { remember } from "../shared/memory.ts";
import { alarm } from "../shared/page.tsx";
import { Button, Control } from "../shared/parts.tsx";
import { KeyButton } from "./editor.tsx";
import type { Session } from "./session.ts";

// With the rubric's title: the name of the reader who has practised by it.
export const PRACTISED = "judge.practised.";
const SIGNS = { new: "", begun: " …", done: " ✓", "not judged": " –" };

// What the keys and the buttons of the page do; false where that means nothing at the moment.
export type Acts = Record<KeyOfPage["act"], () => unknown>;

export function keyOf(session: Session, act: string): string {
  return session.data.keys.find((key) => key.act === act)?.key ?? "";
}

// Goes on where the study in view can be left, and says why where it cannot.
export function leaveFor(session: Session, next: () => unknown): boolean {
  const why = session.leaveStudy();
  if (why) alarm(new Error(why));
  else void next();
  return true;
}

export function Steps({ session, acts }: { session: Session; acts: Acts }) {
  const { phase, undoable } = session.state;
  return (
    <nav class="steps" aria-label="Studies">
      {phase === "practice" ? (
        <PracticeSteps session={session} acts={acts} />
      ) : (
        <ReadingSteps session={session} acts={acts} />
      )}
      <KeyButton
        act="undo"
        text={undoable ? `Undo: ${undoable}` : "Undo"}
        keyboard={keyOf(session, "undo")}
        disabled={undoable === ""}
        onClick={() => acts.undo()}
      />
    </nav>
  );
}

interface StepsProps {
  session: Session;
  acts: Acts;
}

function PracticeSteps({ session, acts }: StepsProps) {
  const { at, feedback } = session.state;
  const isLast = at + 1 === session.data.practice.length;
  const end = () => {
    remember(PRACTISED + session.data.rubric.title, session.reader);
    void session.endPractice();
  };
  return (
    <>
      <Button data-act="skip" onClick={end}>
        Skip the practice
      </Button>
      <KeyButton
        act="nothing"
        text="No errors - check"
        keyboard={keyOf(session, "nothing")}
        onClick={() => acts.nothing()}
      />
      <KeyButton
        act="done"
        text="Check"
        keyboard={keyOf(session, "done")}
        isMain={!feedback}
        onClick={() => acts.done()}
      />
      {feedback && (
        <Button class="main" data-act="next" onClick={() => (isLast ? end() : session.openPractice(at + 1))}>
          {isLast ? "Begin reading" : "Next practice study"}
        </Button>
      )}
    </>
  );
}

function ReadingSteps({ session, acts }: StepsProps) {
  const { at, queue, editing } = session.state;
  return (
    <>
      <KeyButton
        act="previous"
        text="Previous"
        keyboard={keyOf(session, "previous")}
        disabled={at <= 0}
        onClick={() => acts.previous()}
      />
      <KeyButton
        act="later"
        text="Next, not done"
        keyboard={keyOf(session, "later")}
        disabled={at + 1 >= queue.length}
        onClick={() => acts.later()}
      />
      <StudySelect session={session} />
      {editing && <EndSteps session={session} acts={acts} />}
    </>
  );
}

function StudySelect({ session }: { session: Session }) {
  const { at, queue } = session.state;
  return (
    <Control id="place" label="Study">
      <select
        id="place"
        data-act="place"
        value={String(at)}
        onChange={({ currentTarget }) => {
          const place = Number(currentTarget.value);
          // Where it cannot be left, the study in view stays the chosen one.
          currentTarget.value = String(at);
          leaveFor(session, () => session.open(place));
        }}
      >
        {queue.map(({ state }, place) => (
          <option key={place} value={String(place)}>{`${place + 1}${SIGNS[state]}`}</option>
        ))}
      </select>
    </Control>
  );
}

function EndSteps({ session, acts }: StepsProps) {
  const { at, queue } = session.state;
  const isDone = queue[at]?.state === "done";
  return (
    <>
      <KeyButton
        act="cannot"
        text="Cannot judge"
        keyboard={keyOf(session, "cannot")}
        onClick={() => acts.cannot()}
      />
      <KeyButton
        act="nothing"
        text="No errors - next"
        keyboard={keyOf(session, "nothing")}
        onClick={() => acts.nothing()}
      />
      <KeyButton
        act="done"
        text={isDone ? "Done ✓ - next" : "Done - next"}
        keyboard={keyOf(session, "done")}
        isMain
        onClick={() => acts.done()}
      />
    </>
  );
}
