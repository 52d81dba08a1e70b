// Small parts of which all pages are made. Text from outside is shown by `Isolated` and `Clipped`,
// so that right-to-left marks in a report cannot reorder the page.

import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import type { Piece } from "../api.ts";

const MAX_SHOWN = 20000;
const MAX_LISTED = 300;

export function Isolated({ children }: { children: string | number }) {
  return <bdi>{children}</bdi>;
}

export function Button(props: ButtonHTMLAttributes<HTMLButtonElement>) {
  return <button type="button" {...props} />;
}

export interface Fact {
  name: string;
  value: ComponentChildren;
}

// Facts as a list, each a name and what is shown beside it.
export function FactList({ facts, label }: { facts: readonly Fact[]; label?: string }) {
  // A list that scrolls needs the keyboard, and then a name.
  const region = label ? { tabIndex: 0, "aria-label": label } : {};
  return (
    <dl class="facts" {...region}>
      {facts.map(({ name, value }, at) => (
        <div key={at}>
          <dt>
            <Isolated>{name}</Isolated>
          </dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

// A field of a form below its label; the field has the same `id`.
export function Control({ id, label, children }: { id: string; label: string; children: ComponentChildren }) {
  return (
    <div class="control">
      <label for={id}>
        <Isolated>{label}</Isolated>
      </label>
      {children}
    </div>
  );
}

// A table whose cells Python has written.
export interface TableContent {
  title: string;
  head: readonly string[];
  rows: readonly (readonly string[])[];
  // So many columns at the left are words.
  n_left: number;
  note?: string | null;
}

// A table that scrolls sideways by itself; a caption that is not `isShown` is only read out.
export function ScrollingTable({
  kind,
  caption,
  isShown = false,
  children,
}: {
  kind?: string;
  caption: string;
  isShown?: boolean;
  children: ComponentChildren;
}) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table class={kind}>
        <caption class={isShown ? undefined : "unseen"}>
          <Isolated>{caption}</Isolated>
        </caption>
        {children}
      </table>
    </div>
  );
}

// A table as a terminal prints it.
export function PrintedTable({ title, head, rows, n_left: nLeft, note }: TableContent) {
  const kindOf = (column: number) => (column < nLeft ? "words" : "numbers");
  return (
    <div class="printed">
      <ScrollingTable caption={title} isShown>
        <thead>
          <tr>
            {head.map((text, column) =>
              text ? (
                <th key={column} scope="col" class={kindOf(column)}>
                  <Isolated>{text}</Isolated>
                </th>
              ) : (
                <td key={column} />
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((text, column) =>
                column === 0 ? (
                  <th key={column} scope="row">
                    <Isolated>{text}</Isolated>
                  </th>
                ) : (
                  <td key={column} class={kindOf(column)}>
                    <Isolated>{text}</Isolated>
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </ScrollingTable>
      {note && (
        <p class="small">
          <Isolated>{note}</Isolated>
        </p>
      )}
    </div>
  );
}

// A long text a part at a time: a browser takes many seconds to lay out a megabyte on one line.
// `show` draws each part, as isolated text where it is not given.
export function Clipped({
  text,
  show = isolated,
}: {
  text: string;
  show?: (part: string) => ComponentChildren;
}) {
  const [nShown, setShown] = useState(MAX_SHOWN);
  const left = text.length - nShown;
  return (
    <>
      {show(text.slice(0, nShown))}
      {left > 0 && (
        <Button class="quiet" onClick={() => setShown(nShown + MAX_SHOWN)}>
          Show more: {left} characters follow
        </Button>
      )}
    </>
  );
}

function isolated(text: string): ComponentChildren {
  return <Isolated>{text}</Isolated>;
}

// Words of two texts: the same, taken out, or put in.
export function Pieces({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <>
      {pieces.map(({ change, text }, at) => {
        const words = <Clipped text={text} />;
        if (change === "out") return <del key={at}>{words}</del>;
        if (change === "in") return <ins key={at}>{words}</ins>;
        return <span key={at}>{words}</span>;
      })}
    </>
  );
}

// The first entries of a long list, and a button for the rest. `show` draws an entry as an <li>
// with a key.
export function Listed<Entry>({
  entries,
  show,
}: {
  entries: readonly Entry[];
  show: (entry: Entry, at: number) => ComponentChildren;
}) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? entries : entries.slice(0, MAX_LISTED);
  return (
    <>
      {shown.map(show)}
      {shown.length < entries.length && (
        <li key="rest">
          <Button class="quiet" onClick={() => setWhole(true)}>
            Show all {entries.length}
          </Button>
        </li>
      )}
    </>
  );
}
