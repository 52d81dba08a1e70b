// What each label means, in the words that the judge is given too.

import type { FacetToLabel, KindToMark, RubricToRead } from "../api.ts";
import { Button, FactList } from "../shared/parts.tsx";
import { facetsOf } from "./marks.ts";

// `practise` opens the practice studies, null where there are none.
export function Guidelines({ rubric, practise }: { rubric: RubricToRead; practise: (() => void) | null }) {
  return (
    <details id="guidelines">
      <summary>Guidelines</summary>
      <div tabIndex={0} role="region" aria-label="Guidelines">
        <p>{rubric.summary}</p>
        <Passages texts={rubric.guidelines} />
        {rubric.kinds.map((kind) => (
          <KindGuide key={kind.name} rubric={rubric} kind={kind} />
        ))}
        {rubric.notes.map((note) => (
          <p key={note} class="small">
            {note}
          </p>
        ))}
        {practise && <Button onClick={practise}>Practice studies</Button>}
      </div>
    </details>
  );
}

function KindGuide({ rubric, kind }: { rubric: RubricToRead; kind: KindToMark }) {
  return (
    <section>
      <h2>
        {kind.title} {kind.key && <kbd>{kind.key}</kbd>}
      </h2>
      <Passages texts={kind.definition} />
      {facetsOf(rubric, kind).map((facet) => (
        <FacetGuide key={facet.name} facet={facet} />
      ))}
    </section>
  );
}

function FacetGuide({ facet }: { facet: FacetToLabel }) {
  const facts = facet.labels
    .filter(({ modality }) => modality === null)
    .map(({ key, text, definition }) => ({
      name: key ?? "",
      value: (
        <>
          <strong>{text}</strong>
          {definition.length > 0 && `: ${definition.join(" ")}`}
        </>
      ),
    }));
  return (
    <>
      <h3>{facet.title}</h3>
      <Passages texts={facet.definition} />
      <FactList facts={facts} />
    </>
  );
}

function Passages({ texts }: { texts: readonly string[] }) {
  return (
    <>
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </>
  );
}
