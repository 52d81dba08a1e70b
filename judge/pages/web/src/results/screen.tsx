// What the screens of a page of results have in common: their data come when they are opened.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { alarm, goTo } from "../shared/page.tsx";
import type { App } from "./app.tsx";

// What `load` gives, null until it is there. What goes wrong is shown above the page.
export function useLoaded<Data>(load: () => Promise<Data>, key: unknown = null): Data | null {
  const [loaded, setLoaded] = useState<{ key: unknown; data: Data } | null>(null);
  useEffect(() => {
    let isWanted = true;
    load().then((data) => isWanted && setLoaded({ key, data }), alarm);
    return () => { isWanted = false; };
  }, [key]);
  return loaded && loaded.key === key ? loaded.data : null;
}

// A screen with its heading, to which the keyboard goes, and the way back.
export function ScreenSection(
  { app, id, title, back, tools, children }:
  { app: App; id: string; title: string; back: string; tools?: ComponentChildren; children: ComponentChildren },
) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    if (!app.state.study) goTo(heading.current);
  }, []);
  return (
    <section id={id} class="screen" aria-labelledby={`${id}-title`}>
      <nav class="steps" aria-label={title}>
        <a href={app.screenAddress(null)}>{back}</a>
        {tools}
      </nav>
      <h2 id={`${id}-title`} ref={heading} tabIndex={-1}>{title}</h2>
      {children}
    </section>
  );
}
