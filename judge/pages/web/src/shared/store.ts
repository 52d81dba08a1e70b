// State outside of components: it can be changed from anywhere, and is tested without a page.

import { useLayoutEffect, useState } from "preact/hooks";

export class Store<State> {
  #state: State;
  #listeners = new Set<() => void>();

  constructor(state: State) {
    this.#state = state;
  }

  get state(): State {
    return this.#state;
  }

  set(state: State): void {
    if (Object.is(state, this.#state)) return;
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }

  update(changes: Partial<State>): void {
    this.set({ ...this.#state, ...changes });
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

// The state of a store; the component is drawn again after each change.
export function useStore<State>(store: Store<State>): State {
  const [, redraw] = useState({});
  const drawn = store.state;
  useLayoutEffect(() => {
    // It may have changed between drawing and this effect.
    if (store.state !== drawn) redraw({});
    return store.subscribe(() => redraw({}));
  }, [store]);
  return drawn;
}
