// Dialogs: one at a time, in the frame of the page.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { Button } from "./parts.tsx";
import { Store, useStore } from "./store.ts";

export interface DialogContent {
  title: string;
  content: ComponentChildren;
  // The button that ends it with yes. Without one, the dialog only shows something.
  done?: string;
}

interface OpenDialog extends DialogContent {
  number: number;
  closed: (isDone: boolean) => void;
}

const open = new Store<OpenDialog | null>(null);
let nOpened = 0;

// Shows a dialog until it is closed; whether that was by its button `done`.
export function showDialog(content: DialogContent): Promise<boolean> {
  open.state?.closed(false);
  nOpened += 1;
  const number = nOpened;
  return new Promise((resolve) => {
    const closed = (isDone: boolean) => {
      if (open.state?.number === number) open.set(null);
      resolve(isDone);
    };
    open.set({ ...content, number, closed });
  });
}

// Where dialogs appear; the frame of the page has it.
export function DialogHost() {
  const dialog = useStore(open);
  return dialog && <Dialog key={dialog.number} {...dialog} />;
}

function Dialog({ title, content, done, closed }: OpenDialog) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => box.current?.showModal(), []);
  const close = () => box.current?.close();
  return (
    <dialog
      ref={box}
      aria-labelledby="dialog-title"
      onClose={() => closed(box.current?.returnValue === "done")}
    >
      <form method="dialog">
        <h2 id="dialog-title">{title}</h2>
        {content}
        <p class="tools">
          <button class="main" value={done ? "done" : ""}>
            {done ?? "Close"}
          </button>
          {done && <Button onClick={close}>Cancel</Button>}
        </p>
      </form>
    </dialog>
  );
}
