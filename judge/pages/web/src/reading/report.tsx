// A report that is read: as words that are chosen by mouse, touch or keyboard, or as numbered lines
// that are corrected.

import type { TargetedEvent, TargetedKeyboardEvent, TargetedMouseEvent, TargetedPointerEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Piece } from "../api.ts";
import { Button, Isolated, Pieces } from "../shared/parts.tsx";
import { useStore } from "../shared/store.ts";
import type { Editing } from "./editing.ts";
import { shownAs } from "./marks.ts";
import type { Mark, Side } from "./marks.ts";
import { choosing, chosenByKey, spanOf } from "./words.ts";
import type { Choice, Token } from "./words.ts";

interface NumberedMark {
  mark: Mark;
  at: number;
}

function hasModifier(event: KeyboardEvent): boolean {
  return event.ctrlKey || event.metaKey || event.altKey;
}

function wordOf(target: EventTarget | null): number {
  const element = target instanceof Element ? target.closest<HTMLElement>("[data-word]") : null;
  return Number(element?.dataset.word ?? -1);
}

// An element for each word. Marking and choosing change classes only, so that no line moves.
export function ReportWords({ side, editing }: { side: Side; editing: Editing }) {
  const { content, choices, chosen } = useStore(editing);
  const words = editing.texts[side];
  const choice = choices[side];
  const box = useRef<HTMLDivElement>(null);
  const isTap = useRef(false);
  const isDrag = useRef(false);
  const marks = content.items
    .map((mark, at) => ({ mark, at }))
    .filter(({ mark }) => mark.side === side && mark.start !== null && !mark.edit);

  useLayoutEffect(() => {
    box.current?.querySelector(`[data-word="${choice.head}"]`)?.scrollIntoView({ block: "nearest" });
  }, [choice.head]);

  const choose = (next: Choice) => editing.choose(side, next);

  function pressed(event: TargetedKeyboardEvent<HTMLDivElement>) {
    if (hasModifier(event)) return;
    const next = chosenByKey(words, choice, event.key, event.shiftKey);
    if (!next && !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
    if (next) choose(next);
  }

  // A mouse chooses while it is drawn over the words; a finger scrolls, and taps.
  function down({ target, pointerType, shiftKey }: TargetedPointerEvent<HTMLDivElement>) {
    const word = wordOf(target);
    isTap.current = pointerType === "touch";
    isDrag.current = false;
    if (word >= 0 && !isTap.current) choose(choosing(choice, word, shiftKey));
  }

  function moved({ target, buttons }: TargetedPointerEvent<HTMLDivElement>) {
    const word = wordOf(target);
    if (word < 0 || isTap.current || buttons !== 1 || word === choice.head || choice.anchor < 0) return;
    isDrag.current = true;
    choose(choosing(choice, word, true));
  }

  // The first tap chooses a word, the next all up to it, one on what is chosen that word alone.
  function clicked({ target, shiftKey }: TargetedMouseEvent<HTMLDivElement>) {
    const word = wordOf(target);
    if (word < 0) return;
    const [low, high] = spanOf(choice);
    const isBeside = low >= 0 && (word < low || word > high);
    const here = words.tokens.filter((token) => token.word === word);
    const first = marks.find(({ mark }) => here.some((token) => covers(mark, token)));
    if (first && !isDrag.current && !shiftKey && !(isTap.current && low >= 0))
      editing.chooseMark(first.at, true);
    else if (isTap.current) choose(choosing(choice, word, isBeside));
  }

  return (
    <div
      ref={box}
      class="text words"
      dir="auto"
      tabIndex={0}
      role="textbox"
      aria-readonly
      aria-multiline
      aria-labelledby={`${side}-title`}
      aria-describedby="words-hint"
      onKeyDown={pressed}
      onPointerDown={down}
      onPointerMove={moved}
      onClick={clicked}
    >
      {words.tokens.length === 0 && <em>(empty)</em>}
      {words.tokens.map((token, at) => (
        <WordOfReport
          key={at}
          token={token}
          marks={marks.filter(({ mark }) => covers(mark, token))}
          editing={editing}
          isChosen={isChosen(token, words.words, choice)}
          lit={chosen}
        />
      ))}
    </div>
  );
}

function covers({ start, end }: Mark, token: Token): boolean {
  return start !== null && end !== null && start < token.end && end > token.start;
}

function isChosen(token: Token, words: readonly Token[], choice: Choice): boolean {
  const [first, last] = spanOf(choice);
  const [from, to] = [words[first], words[last]];
  return (
    !choice.isResting &&
    from !== undefined &&
    to !== undefined &&
    token.start >= from.start &&
    token.end <= to.end
  );
}

// Of several marks the last lies on top; a mark's number is above its last word.
function WordOfReport({
  token,
  marks,
  editing,
  isChosen: isPart,
  lit,
}: {
  token: Token;
  marks: readonly NumberedMark[];
  editing: Editing;
  isChosen: boolean;
  lit: number;
}) {
  const top = marks.at(-1);
  const classes = [
    ...(top ? ["marked", `tone-${shownAs(editing.rubric, top.mark).tone}`] : []),
    ...(marks.some(({ at }) => at === lit) ? ["lit"] : []),
    ...(isPart ? ["chosen"] : []),
  ];
  const ended = marks.filter(({ mark }) => (mark.end ?? 0) <= token.end);
  return (
    <span
      data-word={token.word}
      class={classes.join(" ") || undefined}
      data-numbers={ended.length > 0 ? ended.map(({ at }) => at + 1).join(",") : undefined}
    >
      {token.text}
    </span>
  );
}

// What a correction changes in a line, word by word.
export type CompareLine = (line: string, corrected: string) => Promise<readonly Piece[]>;

// Numbered lines that a reader changes, deletes and inserts.
export function CandidateLines({ editing, compare }: { editing: Editing; compare: CompareLine }) {
  const { line: at, writing } = useStore(editing);
  const numbers = [...editing.lines.keys(), editing.lines.length];
  const field = writing && (
    <WrittenLine
      key="writing"
      text={writing.text}
      isNew={writing.kind === "insert"}
      end={(text) => editing.write(text)}
    />
  );

  function pressed(event: TargetedKeyboardEvent<HTMLOListElement>) {
    if (hasModifier(event) || (event.target instanceof Element && event.target.closest("textarea, button")))
      return;
    const acts: Record<string, () => unknown> = {
      ArrowDown: () => editing.goToLine(at + 1),
      ArrowUp: () => editing.goToLine(at - 1),
      Enter: () => editing.begin("change"),
      Delete: () => editing.begin("delete"),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
    if (event.key.startsWith("Arrow")) editing.focusOn("candidate");
  }

  return (
    <ol class="edit-rows" aria-labelledby="candidate-title" aria-describedby="words-hint" onKeyDown={pressed}>
      {numbers.flatMap((line) => [
        ...inserted(editing, line),
        ...(line === at && writing?.kind === "insert" ? [field] : []),
        <CandidateLine key={`line-${line}`} editing={editing} line={line} compare={compare} />,
        ...(line === at && writing?.kind === "change" ? [field] : []),
      ])}
    </ol>
  );
}

// What is inserted before a line; the end of the report has no number.
function inserted(editing: Editing, line: number) {
  return editing.shown
    .flatMap(({ edit }) =>
      edit?.kind === "insert" && (edit.line ?? editing.lines.length) === line ? [edit] : [],
    )
    .map((edit, at) => (
      <li key={`insert-${line}-${at}`} class="edit-row">
        <span class="line-number">+</span>
        <ins class="line-text" dir="auto">
          {edit.corrected}
        </ins>
      </li>
    ));
}

function CandidateLine({ editing, line, compare }: { editing: Editing; line: number; compare: CompareLine }) {
  const text = editing.lines[line]?.text;
  const edit = editing.shown.find(
    (mark) => mark.edit && mark.edit.kind !== "insert" && mark.edit.line === line,
  )?.edit;
  const isCurrent = line === editing.state.line;
  const enter = (event: TargetedEvent<HTMLLIElement>) => {
    editing.goToLine(line);
    if (event.type === "click") event.currentTarget.focus({ preventScroll: true });
  };
  return (
    <li
      class="edit-row"
      data-line={line}
      tabIndex={isCurrent ? 0 : -1}
      aria-current={isCurrent ? "true" : undefined}
      onClick={enter}
      onFocus={enter}
    >
      <span class="line-number">
        <span class="unseen">line </span>
        {text === undefined ? "" : line}
      </span>
      <span class="line-text" dir="auto">
        {text === undefined && <em class="small">end</em>}
        {text !== undefined && !edit && <Isolated>{text}</Isolated>}
        {text !== undefined && edit && (
          <CorrectedLine text={text} corrected={edit.corrected} compare={compare} />
        )}
      </span>
    </li>
  );
}

// The line with its correction: as a whole, and word by word once the service has compared them.
function CorrectedLine({
  text,
  corrected,
  compare,
}: {
  text: string;
  corrected: string;
  compare: CompareLine;
}) {
  const whole: Piece[] = [
    { change: "out", text },
    { change: "in", text: corrected },
  ];
  const [compared, setCompared] = useState<{ corrected: string; pieces: readonly Piece[] } | null>(null);
  useEffect(() => {
    let isCurrent = true;
    compare(text, corrected).then(
      (pieces) => isCurrent && setCompared({ corrected, pieces }),
      () => {}, // then the whole line stays
    );
    return () => {
      isCurrent = false;
    };
  }, [text, corrected]);
  return <Pieces pieces={compared?.corrected === corrected ? compared.pieces : whole} />;
}

// Asks for the text of a line that is changed or inserted.
function WrittenLine({
  text,
  isNew,
  end,
}: {
  text: string;
  isNew: boolean;
  end: (text: string | null) => void;
}) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const apply = () => end(field.current?.value ?? "");
  function pressed(event: TargetedKeyboardEvent<HTMLTextAreaElement>) {
    if (event.isComposing || hasModifier(event) || !["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") apply();
    else end(null);
  }
  return (
    <li class="edit-row writing">
      <span />
      <span>
        <textarea
          ref={field}
          rows={2}
          maxLength={20000}
          aria-label={isNew ? "The new line" : "The line, corrected"}
          defaultValue={text}
          onKeyDown={pressed}
        />
        <span class="tools">
          <Button class="main" onClick={apply}>
            Apply (Enter)
          </Button>
          <Button onClick={() => end(null)}>Cancel (Esc)</Button>
        </span>
      </span>
    </li>
  );
}
