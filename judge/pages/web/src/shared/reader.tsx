// The reader's name, asked for once and then remembered by the browser.

import { showDialog } from "./dialog.tsx";
import { remember, remembered } from "./memory.ts";
import { Button, Isolated } from "./parts.tsx";
import { Store, useStore } from "./store.ts";

const NAME = "judge.reader";
const MAX_NAME = 100;

export class Reader extends Store<string> {
  readonly title: string;
  readonly record: string;

  // `title` asks who it is, `record` names what the name is stored with.
  constructor({ title, record }: { title: string; record: string }) {
    super(remembered(NAME) ?? "");
    this.title = title;
    this.record = record;
  }

  get name(): string {
    return this.state;
  }

  // The name, asked for where it is not known; empty where the dialog was cancelled.
  async known(): Promise<string> {
    return this.name || this.ask();
  }

  // Asks for the name, and returns that of now; where the dialog is cancelled, the one of before.
  async ask(): Promise<string> {
    let name = this.name;
    const content = (
      <>
        <p>Your name is stored with each {this.record}, and in this browser.</p>
        <label for="reader-name">Name</label>
        <input
          id="reader-name"
          required
          autocomplete="name"
          maxLength={MAX_NAME}
          defaultValue={name}
          onInput={(event) => {
            name = event.currentTarget.value.trim();
          }}
        />
      </>
    );
    const isDone = await showDialog({ title: this.title, content, done: "Continue" });
    if (isDone && name) {
      remember(NAME, name);
      this.set(name);
    }
    return this.name;
  }
}

// Who is reading or reviewing, such as "Reviewing as Ana", and a way to change it.
export function ReaderName({ reader, verb }: { reader: Reader; verb: string }) {
  const name = useStore(reader);
  return (
    <span class="small">
      {name && (
        <>
          {verb} <Isolated>{name}</Isolated>{" "}
        </>
      )}
      <Button class="quiet" onClick={() => void reader.ask()}>
        {name ? "Change" : reader.title}
      </Button>
    </span>
  );
}
