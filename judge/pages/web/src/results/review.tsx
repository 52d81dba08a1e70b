// A reader's verdicts on a study: right, wrong, wrong severity, missed errors, a comment.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { LabelChoices, StudyReview } from "../api.ts";
import { alarm, announce } from "../shared/page.tsx";
import { Button, Isolated } from "../shared/parts.tsx";
import type { Reader } from "../shared/reader.tsx";
import { Latest, ask } from "../shared/service.ts";
import { Store, useStore } from "../shared/store.ts";

const KEYS: Readonly<Record<string, string>> = { right: "r", wrong: "w", wrong_severity: "s" };
const NOT_SAVED = "Not saved: who is reviewing?";
const MAX_WORDS = 5000;

interface Draft {
  comment: string;
  missed: string;
}

// Words that are not saved, by study: they are there again when the study is.
export class Drafts {
  readonly #drafts = new Map<string, Draft>();

  constructor() {
    addEventListener("beforeunload", (event) => {
      if (this.#drafts.size) event.preventDefault();
    });
  }

  of(studyId: string): Draft {
    return this.#drafts.get(studyId) ?? { comment: "", missed: "" };
  }

  // Keeps words; empty ones are those that are saved, or gone.
  keep(studyId: string, words: Partial<Draft>): void {
    const draft = { ...this.of(studyId), ...words };
    if (draft.comment || draft.missed) this.#drafts.set(studyId, draft);
    else this.#drafts.delete(studyId);
  }
}

interface Said {
  error: string | null;
  verdict: string;
  comment?: string;
  text?: string;
  categories?: string[];
  level?: string | null;
}

interface ReviewParts {
  base: string;
  studyId: string;
  reader: Reader;
  drafts: Drafts;
}

// The reviews of a study as the reader of now sees them.
export class Review extends Store<StudyReview | null> {
  readonly parts: ReviewParts;
  readonly #answers = new Latest();
  // What was said last, so that the next is said after it.
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: ReviewParts) {
    super(null);
    this.parts = parts;
  }

  async load(): Promise<void> {
    const { base, studyId, reader } = this.parts;
    const query = { id: studyId, reader: reader.name };
    const review = await this.#answers.only(ask<StudyReview>(`${base}/study/review`, { query }));
    if (review) this.set(review);
  }

  // Says something of an error, or takes it back where it is said already. Of two keys in a row the
  // second finds what the first has said.
  judge(at: number, verdict: string): Promise<void> {
    const said = this.#last.then(() => this.#judge(at, verdict));
    this.#last = said.catch(() => {});
    return said;
  }

  async #judge(at: number, verdict: string): Promise<void> {
    const { reader } = this.parts;
    if (!await reader.known()) return;
    // With a name just given, the reader's own verdicts are there first.
    if (this.state?.reader !== reader.name) await this.load();
    if (this.state?.reader !== reader.name) return;
    const item = this.state?.items[at];
    const choice = this.state?.verdicts.find((other) => other.verdict === verdict);
    if (!item || !choice) return;
    const isThere = item.verdict === verdict;
    if (!await this.send({ error: item.error, verdict: isThere ? "none" : verdict })) return;
    announce(`${item.label}: ${isThere ? "verdict withdrawn" : choice.saved}`);
  }

  // Writes something down; false where nobody says who it is.
  async send(said: Said): Promise<boolean> {
    const { base, studyId, reader } = this.parts;
    const name = await reader.known();
    if (!name) return false;
    await ask(`${base}/reviews`, { method: "POST", body: { study_id: studyId, reader: name, ...said } });
    // It is saved: that it cannot be shown is no reason to send it again.
    await this.load().catch(alarm);
    return true;
  }

  // The same of words that were typed: they are a draft until they are on their way, and again
  // where they do not arrive.
  async sendWords(words: Partial<Draft>, said: Said): Promise<boolean> {
    const { studyId, reader, drafts } = this.parts;
    if (!await reader.known()) return false;
    const none = Object.fromEntries(Object.keys(words).map((name) => [name, ""]));
    drafts.keep(studyId, none);
    try {
      return await this.send(said);
    } catch (error) {
      drafts.keep(studyId, words);
      throw error;
    }
  }
}

// The verdicts below an error.
export function ItemVerdicts({ review, at }: { review: Review; at: number }) {
  const state = useStore(review);
  const item = state?.items[at];
  if (!state || !item) return null;
  const chosen = state.verdicts.find(({ verdict }) => verdict === item.verdict);
  return (
    <div class="tools" role="group" aria-label={`Your verdict: ${item.label}`}>
      {state.verdicts.map(({ verdict, text }) => (
        <Button
          key={verdict}
          data-act={verdict}
          aria-keyshortcuts={KEYS[verdict]}
          aria-pressed={verdict === item.verdict}
          onClick={() => void review.judge(at, verdict)}
        >
          {text}
        </Button>
      ))}
      {chosen && <span class="small">Saved: {chosen.saved}</span>}
      {item.others.map((text) => <span key={text} class="small"><Isolated>{text}</Isolated></span>)}
    </div>
  );
}

// The part of the review on the study as a whole.
export function StudyReviewPart({ review }: { review: Review }) {
  const state = useStore(review);
  const name = useStore(review.parts.reader);
  useLayoutEffect(() => {
    if (review.state?.reader !== name) void review.load();
  }, [name]);
  if (!state) return null;
  return (
    <section class="part review">
      <h3>Your review</h3>
      <ul class="missed">
        {state.stale.map((text) => <li key={text}><Isolated>{text}</Isolated></li>)}
        {state.written.map(({ id, text, reader }, at) => (
          <li key={id ?? at}>
            <Isolated>{text}</Isolated> <span class="small"><Isolated>{reader}</Isolated></span>
            {id !== null && <Withdraw review={review} id={id} />}
          </li>
        ))}
        {state.hidden && <li class="small">{state.hidden}</li>}
      </ul>
      <MissedForm review={review} categories={state.categories} levels={state.levels} />
      <CommentField
        review={review}
        reader={state.reader}
        saved={state.comment}
        // Another reader's words are gone before this reader's are there.
        isHidden={state.reader !== "" && state.reader !== name}
      />
    </section>
  );
}

function Withdraw({ review, id }: { review: Review; id: string }) {
  const withdraw = async () => {
    if (await review.send({ error: id, verdict: "none" })) announce("Missed error withdrawn");
  };
  return <> <Button class="quiet" onClick={() => void withdraw()}>Withdraw</Button></>;
}

// A comment, saved when the field is left. What is not saved stays, and the field says so.
function CommentField(
  { review, reader, saved, isHidden }: { review: Review; reader: string; saved: string; isHidden: boolean },
) {
  const { studyId, drafts } = review.parts;
  const [text, setText] = useState(drafts.of(studyId).comment || saved);
  const [isUnsaved, setUnsaved] = useState(drafts.of(studyId).comment !== "");
  const isSending = useRef(false);
  // Another reader has another comment; words of which nothing is saved stay.
  useLayoutEffect(() => {
    if (!isSending.current && !drafts.of(studyId).comment) setText(saved);
  }, [reader, saved]);
  const typed = (words: string) => {
    setText(words);
    drafts.keep(studyId, { comment: words === saved ? "" : words });
  };
  const save = async () => {
    if (text === saved) return;
    isSending.current = true;
    try {
      const said = { error: null, verdict: "comment", comment: text };
      const isSaved = await review.sendWords({ comment: text }, said);
      setUnsaved(!isSaved);
      announce(isSaved ? "Comment saved" : NOT_SAVED);
    } finally {
      isSending.current = false;
    }
  };
  return (
    <>
      <label for="comment">Comment on this study, saved when you leave the field</label>
      <textarea
        id="comment"
        rows={2}
        maxLength={MAX_WORDS}
        readOnly={isHidden}
        value={isHidden ? drafts.of(studyId).comment : text}
        onInput={(event) => typed(event.currentTarget.value)}
        onChange={() => void save()}
      />
      {isUnsaved && (
        <p class="wrong" role="status">{NOT_SAVED} <Button onClick={() => void save()}>Save the comment</Button></p>
      )}
    </>
  );
}

function MissedForm(
  { review, categories, levels }:
  { review: Review; categories: LabelChoices | null; levels: LabelChoices | null },
) {
  const { studyId, drafts } = review.parts;
  const [text, setText] = useState(drafts.of(studyId).missed);
  const [category, setCategory] = useState(categories?.choices[0]?.value ?? "");
  const [level, setLevel] = useState(levels?.choices[0]?.value ?? "");
  const [isUnsaved, setUnsaved] = useState(false);
  const isSending = useRef(false);
  const typed = (words: string) => {
    setText(words);
    drafts.keep(studyId, { missed: words });
  };
  const add = async () => {
    // A second click adds nothing while the first is under way.
    if (isSending.current) return;
    if (!text.trim()) {
      document.getElementById("missed-text")?.focus();
      return;
    }
    const said = { text, categories: categories ? [category] : [], level: levels ? level : null };
    isSending.current = true;
    let isSaved = false;
    try {
      isSaved = await review.sendWords({ missed: text }, { error: null, verdict: "missed", ...said });
    } finally {
      isSending.current = false;
    }
    setUnsaved(!isSaved);
    // What was typed meanwhile stays.
    if (isSaved) setText((now) => (now === text ? "" : now));
    announce(isSaved ? "Missed error added; Withdraw takes it back" : NOT_SAVED);
  };
  return (
    <details open={text !== ""}>
      <summary>Add an error that the judge missed</summary>
      <label for="missed-text">What was missed</label>
      <textarea
        id="missed-text"
        rows={2}
        maxLength={MAX_WORDS}
        value={text}
        onInput={(event) => typed(event.currentTarget.value)}
      />
      {categories && <LabelField id="missed-category" {...categories} value={category} choose={setCategory} />}
      {levels && <LabelField id="missed-level" {...levels} value={level} choose={setLevel} />}
      <p>
        <Button class="main" onClick={() => void add()}>Add</Button>
        {isUnsaved && <span class="wrong" role="status"> {NOT_SAVED}</span>}
      </p>
    </details>
  );
}

function LabelField(
  { id, label, choices, value, choose }:
  { id: string; label: string; choices: LabelChoices["choices"]; value: string; choose: (value: string) => void },
) {
  return (
    <>
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {choices.map((choice) => <option key={choice.value} value={choice.value}>{choice.text}</option>)}
      </select>
    </>
  );
}
