// The frame of a page: the link to its middle, what is read out, what went wrong, and dialogs.

import { render } from "preact";
import type { ComponentChildren } from "preact";

import { DialogHost } from "./dialog.tsx";
import { pressed } from "./keys.tsx";
import { Button, Isolated } from "./parts.tsx";
import { Store, useStore } from "./store.ts";

interface Announcement {
  text: string;
  number: number;
}

const announced = new Store<Announcement>({ text: "", number: 0 });
const alarmed = new Store<string>("");
const content = new Store<ComponentChildren>(null);

// Has a text read out by a screen reader, a second time as well.
export function announce(text: string): void {
  announced.set({ text, number: announced.state.number + 1 });
}

// Shows what went wrong until it is dismissed.
export function alarm(error: unknown): void {
  alarmed.set(error instanceof Error ? error.message : String(error));
}

export function dismissAlarm(): void {
  alarmed.set("");
}

// Draws the page once `load` has it; until then, what that shows. The document says when it is drawn,
// or why it cannot be; what fails later is shown too.
export async function startPage(
  load: (show: (shown: ComponentChildren) => void) => ComponentChildren | Promise<ComponentChildren>,
): Promise<void> {
  document.addEventListener("keydown", pressed);
  window.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    alarm(event.reason);
  });
  window.addEventListener("error", (event) => {
    if (event.error) alarm(event.error);
  });
  const root = document.createElement("div");
  root.id = "page";
  document.querySelectorAll("noscript").forEach((old) => old.remove());
  document.body.prepend(root);
  render(<Frame />, root);
  try {
    content.set(await load((shown) => content.set(shown)));
  } catch (error) {
    content.set(<main id="main"><h1>This page cannot be shown</h1></main>);
    alarm(error);
  }
  document.documentElement.dataset.ready = "yes";
}

function Frame() {
  const { text, number } = useStore(announced);
  const wrong = useStore(alarmed);
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to the studies</a>
      <div id="announcer" class="unseen" role="status" aria-live="polite"><span key={number}>{text}</span></div>
      <div id="alarm" role="alert">
        {wrong && <><Isolated>{wrong}</Isolated><Button class="quiet" onClick={dismissAlarm}>Dismiss</Button></>}
      </div>
      {useStore(content)}
      <DialogHost />
    </>
  );
}

// Goes to the heading of what is shown.
function skip(event: Event): void {
  event.preventDefault();
  const headings = ["study-title", "studies-title", "main"].map((id) => document.getElementById(id));
  const target = headings.find((heading) => heading?.checkVisibility());
  if (!target) return;
  target.tabIndex = -1;
  target.focus();
}

// Brings an element into sight, and the keyboard to it.
export function goTo(element: HTMLElement | null | undefined, block: ScrollLogicalPosition = "nearest"): void {
  element?.focus({ preventScroll: true });
  element?.scrollIntoView({ block });
}
