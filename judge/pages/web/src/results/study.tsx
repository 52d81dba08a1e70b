// One study: its reports with marked words on the left, and on the right a column for each judge
// or reader with its findings.

import { createContext } from "preact";
import type { ComponentChildren } from "preact";
import { useContext, useState } from "preact/hooks";

import type { AskedQuestion, EditRow, Findings, ReportSegment, ShownAnswer, ShownItem } from "../api.ts";
import { alarm, goTo } from "../shared/page.tsx";
import { Button, Clipped, FactList, Isolated, Listed, Pieces } from "../shared/parts.tsx";
import type { Fact } from "../shared/parts.tsx";
import type { App, Opened } from "./app.tsx";

const MAX_MARKS = 1000;
type Side = "reference" | "candidate";

// What one judge or reader says of a study. Its items are numbered with `letter` before them.
export interface StudyColumn {
  key: string;
  letter: string;
  title?: string;
  link?: ComponentChildren;
  facts?: readonly Fact[];
  note?: string;
  // Null where there is nothing of it on this page.
  findings: Findings | null;
  // Whether its items are marked in the reports; they are where it is not said.
  isMarked?: boolean;
  answer?: ShownAnswer;
  // Loads what the judge was asked.
  asked?: () => Promise<AskedQuestion>;
  // What stands in the card of an item below it, such as the buttons of a review.
  belowItem?: (at: number) => ComponentChildren;
}

export interface OpenStudy {
  id: string;
  facts: readonly Fact[];
  intro?: ComponentChildren;
  columns: readonly StudyColumn[];
  // Below all columns.
  below?: ComponentChildren;
  // Says something of an error by its place, where verdicts are taken.
  judge?: (at: number, verdict: string) => void;
}

interface NumberedItem {
  key: string;
  name: string;
  item: ShownItem;
}

// The keys of the items that are lit up wherever they show, with spaces between.
const Lit = createContext("");

function isLit(lit: string, keys: string): boolean {
  const all = lit.split(" ");
  return lit !== "" && keys.split(" ").some((key) => all.includes(key));
}

export function StudySection({ app, study }: { app: App; study: Opened }) {
  return (
    <section id="study" aria-labelledby="study-title">
      <StudyHead app={app} study={study} />
      {study.intro}
      <StudyBody columns={study.columns} below={study.below} showsDifferences={app.state.showsDifferences} />
    </section>
  );
}

// Both reports, and what is said of them.
export function StudyBody(
  { columns, below, showsDifferences }:
  { columns: readonly StudyColumn[]; below?: ComponentChildren; showsDifferences: boolean },
) {
  const [lit, setLit] = useState("");
  const light = (event: Event) => {
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-errors]") : null;
    setLit(element?.dataset.errors ?? "");
  };
  const isOne = columns.length === 1;
  return (
    <Lit.Provider value={lit}>
      <div class="reading" onPointerOver={light} onFocusIn={light}>
        <div class="reports">
          <Reports side="reference" columns={columns} showsDifferences={false} />
          <Reports side="candidate" columns={columns} showsDifferences={showsDifferences} />
        </div>
        <div class={isOne ? "findings" : "findings several"}>
          {columns.map((column) => <FindingsOf key={column.key} column={column} isTitled={!isOne} />)}
          {below}
        </div>
      </div>
    </Lit.Provider>
  );
}

function StudyHead({ app, study }: { app: App; study: Opened }) {
  const { rows, listing, showsDifferences } = app.state;
  const { noun } = listing.parts;
  const place = rows.indexOf(study.row);
  const step = (by: number, text: string, key: string) => (
    <Button
      disabled={app.rowAt(by) === null}
      aria-keyshortcuts={key}
      data-act={text}
      onClick={() => void app.step(by)}
    >
      {text}
    </Button>
  );
  return (
    <header class="study-head">
      <nav class="steps" aria-label={capital(noun.many)}>
        <a href={app.addressOf(null)}>All {noun.many}</a>
        {step(-1, "Previous", "p")}
        {step(1, "Next", "n")}
        <span class="small">
          {place < 0 ? "outside the filtered list" : `${place + 1} of ${rows.length}`}
        </span>
        <Button
          aria-pressed={showsDifferences}
          aria-keyshortcuts="d"
          data-act="diff"
          onClick={() => app.toggleDifferences()}
        >
          Show differences
        </Button>
      </nav>
      <h2 id="study-title" tabIndex={-1}>{capital(noun.one)} <Isolated>{study.id}</Isolated></h2>
      <FactList facts={study.facts} />
    </header>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function numbered({ key, letter, findings }: StudyColumn): NumberedItem[] {
  return (findings?.items ?? []).map((item, at) => ({ key: `${key}${at}`, name: `${letter}${at + 1}`, item }));
}

function textOf(segments: readonly ReportSegment[]): string {
  return segments.map(({ text }) => text).join("");
}

// A section for each wording of a report.
function Reports(
  { side, columns, showsDifferences }: { side: Side; columns: readonly StudyColumn[]; showsDifferences: boolean },
) {
  const wordings = new Map<string, StudyColumn[]>();
  for (const column of columns) {
    if (!column.findings) continue;
    const text = textOf(column.findings[side]);
    wordings.set(text, [...(wordings.get(text) ?? []), column]);
  }
  // A reader's file may lack the reports.
  if (wordings.size > 1) wordings.delete("");
  const several = wordings.size > 1;
  return (
    <>
      {[...wordings].map(([text, sharing], at) => {
        const letters = [...new Set(sharing.map(({ letter }) => letter))].join(", ");
        const id = `${side}-${at}`;
        const differences = showsDifferences ? sharing[0]?.findings?.differences : undefined;
        return (
          <section key={id} class={`report ${side}`} aria-labelledby={id}>
            <h3 id={id}>{capital(side)}{several && ` ${letters}`}</h3>
            <div class="text" dir="auto">
              {text === "" && <em>(empty)</em>}
              {differences?.note && <em>{differences.note} </em>}
              {differences ? <Pieces pieces={differences.pieces} /> : <Marked text={text} side={side} sharing={sharing} />}
            </div>
          </section>
        );
      })}
    </>
  );
}

interface Span {
  start: number;
  end: number;
  items: NumberedItem[];
}

// The marked items of a column, and their places in its report.
function spansOf(column: StudyColumn, side: Side): Span[] {
  const { findings, isMarked = true } = column;
  const spans: Span[] = [];
  if (!findings || !isMarked) return spans;
  const items = numbered(column);
  let end = 0;
  for (const { text, errors } of findings[side]) {
    const start = end;
    end += text.length;
    const marked = errors.flatMap((error) => items[error] ?? []);
    if (marked.length) spans.push({ start, end, items: marked });
  }
  return spans;
}

// The text with marks; an item's number is where its mark ends.
function Marked({ text, side, sharing }: { text: string; side: Side; sharing: readonly StudyColumn[] }) {
  const spans = sharing.flatMap((column) => spansOf(column, side)).slice(0, MAX_MARKS);
  const parts = cut(text, spans);
  return (
    <>
      {parts.map((part, at) => (
        <MarkedPart key={part.start} text={part.text} items={part.items} following={parts[at + 1]?.items ?? []} />
      ))}
    </>
  );
}

// A text cut where a mark begins or ends.
function cut(text: string, spans: readonly Span[]): { start: number; text: string; items: NumberedItem[] }[] {
  const edges = [...new Set([0, ...spans.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b);
  return edges.map((start, at) => {
    const end = edges[at + 1] ?? text.length;
    const over = spans.filter((span) => span.start <= start && end <= span.end);
    return { start, text: text.slice(start, end), items: over.flatMap(({ items }) => items) };
  });
}

function MarkedPart(
  { text, items, following }: { text: string; items: readonly NumberedItem[]; following: readonly NumberedItem[] },
) {
  const lit = useContext(Lit);
  if (!items.length) return <Clipped text={text} />;
  const keys = items.map(({ key }) => key);
  const ended = items.filter(({ key }) => following.every((other) => other.key !== key));
  const { tone } = items.reduce((worst, { item }) => (item.weight > worst.weight ? item : worst), items[0]!.item);
  const mark = (part: string) => (
    <mark
      class={isLit(lit, keys.join(" ")) ? `tone-${tone} lit` : `tone-${tone}`}
      tabIndex={0}
      data-errors={keys.join(" ")}
      aria-describedby={keys.map((key) => `error-${key}-words`).join(" ")}
      onClick={() => focusError(keys[0] ?? "")}
    >
      <Isolated>{part}</Isolated>
      {ended.length > 0 && <sup aria-hidden="true" data-numbers={ended.map(({ name }) => name).join(" ")} />}
    </mark>
  );
  return <Clipped text={text} show={mark} />;
}

function FindingsOf({ column, isTitled }: { column: StudyColumn; isTitled: boolean }) {
  const { title, link, facts = [], note, findings } = column;
  return (
    <section class="findings-of" data-column={column.key} aria-label={title ?? "Findings"}>
      {isTitled && <h3><Isolated>{title ?? ""}</Isolated>{link && <> {link}</>}</h3>}
      {facts.length > 0 && <FactList facts={facts} />}
      {note && <p class="small">{note}</p>}
      {findings && (
        <>
          {findings.unscored ? <NotScored {...findings.unscored} /> : <Judged column={column} findings={findings} />}
          <RawAnswer answer={column.answer} asked={column.asked} />
        </>
      )}
    </section>
  );
}

function NotScored({ heading, detail, note }: { heading: string; detail: string; note: string }) {
  return (
    <div class="unscored">
      <h3><Isolated>{heading}</Isolated></h3>
      <p class="text"><Clipped text={detail} /></p>
      <p class="small">{note}</p>
    </div>
  );
}

function Judged({ column, findings }: { column: StudyColumn; findings: Findings }) {
  const { heading, notes, edits, lists, explanation, warnings } = findings;
  const items = numbered(column);
  return (
    <>
      {heading && (
        <Part title={heading}>
          {notes.map((note) => <p key={note} class="small">{note}</p>)}
          {items.length > 0 && (
            <ol class="errors">
              <Listed
                entries={items}
                show={(shown, at) => <Card key={shown.key} shown={shown} below={column.belowItem?.(at)} />}
              />
            </ol>
          )}
        </Part>
      )}
      {edits && (
        <Part title="The candidate, corrected">
          <ol class="edit-rows">
            <Listed entries={edits} show={(row, at) => <CorrectedLine key={at} row={row} items={items} />} />
          </ol>
        </Part>
      )}
      {lists.map((list) => (
        <Part key={list.heading} title={list.heading}>
          <ul class="matched">
            <Listed entries={list.texts} show={(text, at) => <li key={at}><Clipped text={text || "(no text)"} /></li>} />
          </ul>
        </Part>
      ))}
      {explanation && (
        <Part title="The judge's explanation"><p class="text" dir="auto"><Clipped text={explanation} /></p></Part>
      )}
      {warnings.length > 0 && (
        <Part title="Warnings about the answer">
          <ul><Listed entries={warnings} show={(text, at) => <li key={at}><Clipped text={text} /></li>} /></ul>
        </Part>
      )}
    </>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return <section class="part"><h4>{title}</h4>{children}</section>;
}

function Card({ shown: { key, name, item }, below }: { shown: NumberedItem; below: ComponentChildren }) {
  const lit = isLit(useContext(Lit), key);
  return (
    <li
      id={`error-${key}`}
      class={lit ? `error tone-${item.tone} lit` : `error tone-${item.tone}`}
      tabIndex={-1}
      data-errors={key}
    >
      <p class="error-head">
        <span class="error-number"><span class="unseen">{item.noun} </span>{name}</span>
        <strong class="severity">{item.grade_text}</strong>
        {item.tags.map((tag) => <span key={tag}>{tag}</span>)}
        {item.note && <span class="small">{item.note}</span>}
      </p>
      <p id={`error-${key}-words`} class="text" dir="auto"><Clipped text={item.text} /></p>
      {item.quotes.map((quote, at) => <p key={at} class="small" dir="auto"><Clipped text={`“${quote}”`} /></p>)}
      {below}
    </li>
  );
}

function CorrectedLine({ row, items }: { row: EditRow; items: readonly NumberedItem[] }) {
  const lit = useContext(Lit);
  const shown = row.error === null ? undefined : items[row.error];
  const classes = ["edit-row"];
  if (shown) classes.push(`tone-${shown.item.tone}`);
  if (shown && isLit(lit, shown.key)) classes.push("lit");
  return (
    <li class={classes.join(" ")} data-errors={shown?.key}>
      <span class="line-number"><span class="unseen">line </span>{row.line ?? "+"}</span>
      <span class="line-text" dir="auto"><Pieces pieces={row.pieces} /></span>
      {shown && (
        <a
          class="small"
          href={`#error-${shown.key}`}
          onClick={(event) => {
            event.preventDefault();
            focusError(shown.key);
          }}
        >
          error {shown.name}
        </a>
      )}
    </li>
  );
}

// The raw answer; the question is loaded when it is unfolded.
function RawAnswer({ answer, asked }: { answer?: ShownAnswer; asked?: () => Promise<AskedQuestion> }) {
  const [question, setQuestion] = useState<AskedQuestion | null>(null);
  if (!answer && !asked) return null;
  if (!asked && answer?.missing) return null;
  const open = (isOpen: boolean) => {
    if (isOpen && asked && !question) asked().then(setQuestion, alarm);
  };
  return (
    <details class="answer" onToggle={(event) => open(event.currentTarget.open)}>
      <summary>{asked ? "Raw answer, and what was asked" : "Raw answer"}</summary>
      {answer?.missing && <p>{answer.missing}</p>}
      {answer && !answer.missing && (
        <>
          <pre class="text" dir="auto" tabIndex={0}><Clipped text={answer.text} /></pre>
          <FactList facts={answer.facts.map(({ name, value }) => ({ name, value: <Isolated>{value}</Isolated> }))} />
        </>
      )}
      {question && <Asked question={question} />}
    </details>
  );
}

function Asked({ question: { messages, missing } }: { question: AskedQuestion }) {
  return (
    <ul class="plain">
      <li class="small">What was asked{missing && <>: <Isolated>{missing}</Isolated></>}</li>
      <Listed
        entries={messages}
        show={({ name, text }, at) => (
          <li key={at}>
            <p class="small"><Isolated>{name}</Isolated></p>
            <pre class="text" dir="auto" tabIndex={0}><Clipped text={text} /></pre>
          </li>
        )}
      />
    </ul>
  );
}

function cards(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("#study .error")];
}

// The place of the error that has the keyboard among the study's, -1 for none.
export function focusedError(): number {
  const card = document.activeElement?.closest<HTMLElement>("#study .error");
  return card ? cards().indexOf(card) : -1;
}

// Goes to another error of the study, to the first where none has the keyboard.
export function moveError(by: number): void {
  const all = cards();
  const focused = focusedError();
  const place = focused < 0 ? 0 : Math.min(all.length - 1, Math.max(0, focused + by));
  const next = all[place];
  if (next) focusError(next.id.slice("error-".length));
}

export function focusError(key: string): void {
  document.querySelector(`#study mark[data-errors~="${CSS.escape(key)}"]`)?.scrollIntoView({ block: "nearest" });
  goTo(document.getElementById(`error-${key}`));
}
