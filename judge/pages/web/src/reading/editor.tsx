// One study that is read, as it is drawn: both reports, the marks in them, and the mark that is
// being made.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { ContextField, KindToMark, LabelToGive } from "../api.ts";
import { keyName } from "../shared/keys.tsx";
import { goTo } from "../shared/page.tsx";
import { Button, FactList, Isolated } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Editing, Place } from "./editing.ts";
import { facetsOf, kindOf, shownAs, wordsOf } from "./marks.ts";
import type { Mark, Side, Tone } from "./marks.ts";
import { CandidateLines, ReportWords } from "./report.tsx";
import type { CompareLine } from "./report.tsx";

const HINTS = {
  words: "Select words: in the candidate what is wrong, in the reference what is missing.",
  lines: "Choose a line of the candidate and change it, delete it, or insert one before it.",
};
const EDITS = { change: "changed to", delete: "deleted", insert: "inserted" };

export interface KeyButtonProps {
  act: string;
  text: string;
  // As `KeyboardEvent.key` has it.
  keyboard: string | null;
  onClick: () => void;
  tone?: Tone | null;
  isPressed?: boolean;
  isMain?: boolean;
  disabled?: boolean;
}

// A button with its key.
export function KeyButton({
  act,
  text,
  keyboard,
  onClick,
  tone,
  isPressed,
  isMain = false,
  disabled = false,
}: KeyButtonProps) {
  const toneClass = tone ? `tone-${tone}` : undefined;
  return (
    <Button
      data-act={act}
      class={isMain ? "main" : toneClass}
      aria-pressed={isPressed}
      aria-keyshortcuts={keyboard ?? undefined}
      disabled={disabled}
      onClick={onClick}
    >
      {keyboard && (
        <>
          <kbd aria-hidden="true">{keyName(keyboard)}</kbd>{" "}
        </>
      )}
      {text}
    </Button>
  );
}

export interface StudyEditorProps {
  editing: Editing;
  heading: string;
  hint: ComponentChildren;
  context: readonly ContextField[];
  modality: string | null;
  // The key of an act of the page.
  keyOf: (act: string) => string;
  compare: CompareLine;
  // What stands before the marks.
  children?: ComponentChildren;
}

export function StudyEditor({
  editing,
  heading,
  hint,
  context,
  modality,
  keyOf,
  compare,
  children,
}: StudyEditorProps) {
  const { content, focus } = useStore(editing);
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (root.current) focusPlace(root.current, focus.place);
  }, [focus.number]);
  const hasEdits = editing.rubric.has_edits;
  const facts = context.map(({ name, value }) => ({ name, value: <Isolated>{value}</Isolated> }));
  return (
    <div class="editor" ref={root}>
      <header class="editor-head">
        <h2 id="study-title">
          {heading} <span class="small">{hint}</span>
        </h2>
        {content.cannot_judge && (
          <p>
            Cannot judge: <Isolated>{content.cannot_judge}</Isolated>{" "}
            <Button class="quiet" onClick={() => editing.cannotJudge("")}>
              Judge it after all
            </Button>
          </p>
        )}
        {facts.length > 0 && <FactList facts={facts} label="Clinical context" />}
      </header>
      <div class="reading">
        <Report side="reference" title="Reference">
          <ReportWords side="reference" editing={editing} />
        </Report>
        <Report side="candidate" title="Candidate">
          {hasEdits ? (
            <CandidateLines editing={editing} compare={compare} />
          ) : (
            <ReportWords side="candidate" editing={editing} />
          )}
        </Report>
      </div>
      <div class="below">
        {children}
        <Marks editing={editing} removeKey={keyOf("remove")} />
        <Comment editing={editing} />
      </div>
      <MarkBar editing={editing} modality={modality} keyOf={keyOf} />
    </div>
  );
}

function focusPlace(root: HTMLElement, place: Place): void {
  if (place.startsWith("card-")) {
    goTo(root.querySelector<HTMLElement>(`#${place}`));
    return;
  }
  const box = root.querySelector<HTMLElement>(`.${place} .words, .${place} [aria-current="true"]`);
  box?.focus({ preventScroll: true });
  if (box?.matches("li")) box.scrollIntoView({ block: "nearest" });
}

function Report({ side, title, children }: { side: Side; title: string; children: ComponentChildren }) {
  return (
    <section class={`report ${side}`} aria-labelledby={`${side}-title`}>
      <h3 id={`${side}-title`}>{title}</h3>
      {children}
    </section>
  );
}

function Marks({ editing, removeKey }: { editing: Editing; removeKey: string }) {
  const { content } = useStore(editing);
  if (content.items.length === 0) return <p class="small">Nothing is marked yet.</p>;
  return (
    <ol class="errors" aria-label="Marks">
      {content.items.map((mark, at) => (
        <Card key={at} mark={mark} at={at} editing={editing} removeKey={removeKey} />
      ))}
    </ol>
  );
}

function Card({
  mark,
  at,
  editing,
  removeKey,
}: {
  mark: Mark;
  at: number;
  editing: Editing;
  removeKey: string;
}) {
  const { tone, grade, tags } = shownAs(editing.rubric, mark);
  return (
    <li
      id={`card-${at}`}
      class={`card tone-${tone}`}
      tabIndex={-1}
      aria-current={at === editing.state.chosen ? "true" : undefined}
      onFocus={() => editing.chooseMark(at)}
    >
      <span class="error-number">{at + 1}</span>
      <strong class="severity">{grade}</strong>
      <span>{tags.join(", ")}</span>
      <span>
        <span class="small">{placeOf(mark)}</span> <Isolated>{wordsOf(mark)}</Isolated>
      </span>
      <Button
        class="quiet"
        aria-label={`Delete mark ${at + 1}`}
        aria-keyshortcuts={removeKey}
        onClick={(event) => {
          event.stopPropagation();
          editing.remove(at);
        }}
      >
        ✕
      </Button>
    </li>
  );
}

function placeOf({ edit, side }: Mark): string {
  if (edit?.kind === "insert") return EDITS.insert;
  if (edit) return `line ${edit.line} ${EDITS[edit.kind]}`;
  return side ? `${side}:` : "";
}

// What is typed stays while other things are drawn; it is saved when the field is left.
function Comment({ editing }: { editing: Editing }) {
  const { comment } = useStore(editing).content;
  const [typed, setTyped] = useState(comment);
  useLayoutEffect(() => setTyped(comment), [comment]);
  return (
    <>
      <label for="comment">Comment</label>
      <textarea
        id="comment"
        rows={1}
        maxLength={20000}
        value={typed}
        onInput={({ currentTarget }) => {
          editing.comment = currentTarget.value;
          setTyped(currentTarget.value);
        }}
        onChange={() => editing.keepComment()}
      />
    </>
  );
}

interface BarProps {
  editing: Editing;
  modality: string | null;
  keyOf: (act: string) => string;
}

// The mark that is made or chosen, with its labels; without one, what to do.
function MarkBar({ editing, modality, keyOf }: BarProps) {
  useStore(editing);
  const { mark } = editing;
  return (
    <div class="bar" role="region" aria-label="The mark">
      {mark ? (
        <Labelling editing={editing} mark={mark} modality={modality} keyOf={keyOf} />
      ) : (
        <Idle editing={editing} keyOf={keyOf} />
      )}
    </div>
  );
}

function Idle({ editing, keyOf }: Omit<BarProps, "modality">) {
  const { range, line } = editing.state;
  const hasEdits = editing.rubric.has_edits;
  const isEnd = line === editing.lines.length;
  return (
    <>
      <p id="words-hint" class="small">
        {range ? <Isolated>{`“${range.text}”`}</Isolated> : HINTS[hasEdits ? "lines" : "words"]}
      </p>
      {hasEdits && (
        <div class="tools">
          <KeyButton
            act="change"
            text="Change line"
            keyboard="Enter"
            disabled={isEnd}
            onClick={() => editing.begin("change")}
          />
          <KeyButton
            act="delete"
            text="Delete line"
            keyboard="Delete"
            disabled={isEnd}
            onClick={() => editing.begin("delete")}
          />
          <KeyButton
            act="insert"
            text={isEnd ? "Insert at the end" : `Insert before line ${line}`}
            keyboard={keyOf("insert")}
            onClick={() => editing.begin("insert")}
          />
        </div>
      )}
    </>
  );
}

function Labelling({ editing, mark, modality, keyOf }: BarProps & { mark: Mark }) {
  const { rubric } = editing;
  const { draft, chosen } = editing.state;
  const kind = kindOf(rubric, mark);
  const others = mark.edit ? [] : rubric.kinds.filter((other) => other !== kind);
  // A label of another modality is no label of these reports.
  const fits = (label: LabelToGive) => label.modality === null || label.modality === modality;
  return (
    <>
      <p id="words-hint" class="small">
        {draft ? "Marking" : `Mark ${chosen + 1}:`} <Isolated>{`“${wordsOf(mark)}”`}</Isolated>
      </p>
      {facetsOf(rubric, kind).map((facet) => (
        <div key={facet.name} class="tools" role="group" aria-label={facet.title}>
          {facet.labels.filter(fits).map((label) => (
            <KeyButton
              key={label.name}
              act={`${facet.name}-${label.name}`}
              text={label.button}
              keyboard={label.key}
              tone={label.tone}
              isPressed={(mark.labels[facet.name] ?? []).includes(label.name)}
              onClick={() => editing.give(facet, label.name)}
            />
          ))}
        </div>
      ))}
      <div class="tools">
        {others.map((other: KindToMark) => (
          <KeyButton
            key={other.name}
            act={`kind-${other.name}`}
            text={other.title}
            keyboard={other.key}
            onClick={() => editing.turnInto(other)}
          />
        ))}
        {!draft && (
          <KeyButton
            act="remove"
            text="Delete mark"
            keyboard={keyOf("remove")}
            onClick={() => editing.remove()}
          />
        )}
        <KeyButton
          act="cancel"
          text={draft ? "Cancel" : "Close"}
          keyboard="Escape"
          onClick={() => editing.cancel()}
        />
      </div>
    </>
  );
}
