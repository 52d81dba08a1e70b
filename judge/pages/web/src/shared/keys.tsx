// Single keys that act outside of fields, and the dialog that shows them. Capital and small letters
// are one key: with Caps Lock on, each key does what it does without.

import { useLayoutEffect, useRef } from "preact/hooks";

import { showDialog } from "./dialog.tsx";
import { remember, remembered } from "./memory.ts";
import { Button, FactList } from "./parts.tsx";

const OFF = "judge.keys-off";

export interface KeyAction {
  // As `KeyboardEvent.key` has it; letters are small.
  key: string;
  text: string;
  // Returns false where the key means nothing at the moment.
  act: () => unknown;
}

interface Registered {
  actions: readonly KeyAction[];
}

// In the order of the components that have them on the page.
const registered: Registered[] = [];

// The key of an event, whatever Shift and Caps Lock make of a letter.
export function keyOf(key: string): string {
  return key.length === 1 ? key.toLowerCase() : key;
}

// Raises where two actions have one key.
export function checkKeys(actions: readonly KeyAction[]): void {
  const seen = new Set<string>();
  for (const { key } of actions) {
    if (key !== keyOf(key)) throw new Error(`the key ${key} is not a small letter`);
    if (seen.has(key)) throw new Error(`the key ${key} has two actions`);
    seen.add(key);
  }
}

// The actions hold while the component is on the page.
export function useKeys(actions: readonly KeyAction[]): void {
  const entry = useRef<Registered>({ actions }).current;
  entry.actions = actions;
  useLayoutEffect(() => {
    registered.push(entry);
    checkKeys(allActions());
    return () => {
      registered.splice(registered.indexOf(entry), 1);
    };
  }, [entry]);
}

function allActions(): KeyAction[] {
  return registered.flatMap(({ actions }) => actions);
}

// The frame of the page listens with this.
export function pressed(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return;
  const field =
    event.target instanceof Element ? event.target.closest<HTMLElement>("input, textarea, select") : null;
  const isOff = field !== null || remembered(OFF) === "yes";
  if (isOff && event.key !== "Escape") return;
  if (field) {
    field.blur();
    event.preventDefault();
    return;
  }
  const key = keyOf(event.key);
  if (key === "?") {
    event.preventDefault();
    void showKeys();
    return;
  }
  const action = allActions().find((other) => other.key === key);
  if (action && action.act() !== false) event.preventDefault();
}

// The name of a key for people.
export function keyName(key: string): string {
  const names: Record<string, string> = { Escape: "Esc", Delete: "Del", " ": "Space" };
  return names[key] ?? key;
}

function showKeys(): Promise<boolean> {
  const facts = allActions().map(({ key, text }) => ({ name: keyName(key), value: text }));
  return showDialog({ title: "Keys", content: <KeysContent facts={facts} /> });
}

function KeysContent({ facts }: { facts: { name: string; value: string }[] }) {
  return (
    <>
      <FactList facts={facts} />
      <p>
        <input
          type="checkbox"
          id="keys-off"
          defaultChecked={remembered(OFF) === "yes"}
          onChange={(event) => remember(OFF, event.currentTarget.checked ? "yes" : "no")}
        />
        <label for="keys-off"> switch single keys off</label>
      </p>
    </>
  );
}

// The button that shows all keys.
export function KeysButton() {
  return (
    <Button class="quiet" onClick={() => void showKeys()} aria-keyshortcuts="?">
      Keys
    </Button>
  );
}
