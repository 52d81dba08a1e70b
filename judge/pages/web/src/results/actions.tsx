// What can be done with a run: the buttons that Python offers, and the dialogs that some need.

import type { Action, ShownRun, TrashedRunShown } from "../api.ts";
import { showDialog } from "../shared/dialog.tsx";
import { announce, goTo } from "../shared/page.tsx";
import { Button } from "../shared/parts.tsx";
import { ask } from "../shared/service.ts";

const MAX_NAME = 120;

// What was done, and to which run; its name is another one after it was renamed.
export interface Done {
  name: Action["name"];
  id: string;
}

// The buttons of a run; `compare` is no button but a box to tick, which is the list's.
export function RunActions({ run, done }: { run: ShownRun; done: (what: Done) => Promise<void> }) {
  const buttons = run.actions.filter(({ name }) => name !== "compare");
  return (
    <>
      {buttons.map(({ name, label, title }) => (
        <Button
          key={name}
          class="quiet"
          data-act={`${name} ${run.id}`}
          aria-label={title}
          onClick={() => void act(name, run, done)}
        >
          {label}
        </Button>
      ))}
    </>
  );
}

async function act(name: Action["name"], run: ShownRun, done: (what: Done) => Promise<void>): Promise<void> {
  const address = `/v1/runs/${encodeURIComponent(run.id)}`;
  if (name === "rename") {
    await rename(run, address, done);
    return;
  }
  if (name === "delete") {
    const content = <p>It is moved to the trash, with its reviews and readings. Below the list of runs it can be restored.</p>;
    if (!await showDialog({ title: `Delete ${run.id}?`, content, done: "Delete" })) return;
    await ask<TrashedRunShown>(address, { method: "DELETE" });
    announce(`${run.id} is in the trash`);
  } else {
    const shown = await ask<ShownRun>(`${address}/${name}`, { method: "POST" });
    announce(`${run.id}: ${shown.state_text}`);
  }
  await done({ name, id: run.id });
}

async function rename(run: ShownRun, address: string, done: (what: Done) => Promise<void>): Promise<void> {
  let name = run.id;
  const content = (
    <>
      <p>Addresses with the old name lead to the run from now on.</p>
      <label for="run-name">Name</label>
      <input
        id="run-name"
        required
        maxLength={MAX_NAME}
        defaultValue={run.id}
        onInput={(event) => { name = event.currentTarget.value.trim(); }}
      />
    </>
  );
  if (!await showDialog({ title: `Rename ${run.id}`, content, done: "Rename" })) return;
  const renamed = await ask<ShownRun>(`${address}/rename`, { method: "POST", body: { name } });
  announce(`${run.id} is called ${renamed.id} now`);
  await done({ name: "rename", id: renamed.id });
}

// The button that had the keyboard may be gone: then the run has it.
export function keepFocus(id: string): void {
  if (document.activeElement !== document.body && document.activeElement !== null) return;
  goTo(document.querySelector<HTMLElement>(`[data-act="open ${CSS.escape(id)}"]`));
}
