// What two see differently: two judges, or a judge and a reader, error beside error.

import { useState } from "preact/hooks";

import type {
  ComparedError, DifferenceKind, DifferingStudy, DisagreementWords, DisagreementsOverview, PairStudies, RaterPair, SeenBy,
} from "../api.ts";
import { Button, Clipped, Control, Isolated, PrintedTable, ScrollingTable } from "../shared/parts.tsx";
import type { App, Screen } from "./app.tsx";
import { ScreenSection, useLoaded } from "./screen.tsx";
import { ALL, DIFFERING, shownStudies } from "./differing.ts";
import type { Wanted } from "./differing.ts";

const TITLE = "What two see differently";
const N_MORE = 50;

export interface DisagreementData {
  overview: () => Promise<DisagreementsOverview>;
  studies: (pair: number) => Promise<PairStudies>;
}

export function disagreementScreen(data: DisagreementData): Screen {
  return { name: "differences", label: TITLE, draw: (app) => <DisagreementScreen app={app} data={data} /> };
}

function DisagreementScreen({ app, data }: { app: App; data: DisagreementData }) {
  const overview = useLoaded(data.overview);
  const [place, setPlace] = useState(0);
  const pair = overview?.pairs[place];
  return (
    <ScreenSection app={app} id="differences" title={TITLE} back="Back">
      {!overview && <p class="empty">The errors are compared. This can take a minute.</p>}
      {overview?.missing && <p class="empty"><Isolated>{overview.missing}</Isolated></p>}
      {overview && pair && (
        <>
          {overview.pairs.length > 1 && (
            <div class="controls">
              <Control id="differences-pair" label={overview.words.pair}>
                <select
                  id="differences-pair"
                  value={String(place)}
                  onChange={(event) => setPlace(Number(event.currentTarget.value))}
                >
                  {overview.pairs.map(({ name }, at) => <option key={at} value={String(at)}>{name}</option>)}
                </select>
              </Control>
            </div>
          )}
          <Pair key={place} pair={pair} overview={overview} load={() => data.studies(place)} />
        </>
      )}
    </ScreenSection>
  );
}

function Pair(
  { pair, overview, load }: { pair: RaterPair; overview: DisagreementsOverview; load: () => Promise<PairStudies> },
) {
  const { kinds, words, about } = overview;
  const loaded = useLoaded(load);
  const [wanted, setWanted] = useState<Wanted>({ kind: DIFFERING, category: ALL });
  const rows = kinds.map(({ label }, at) => [label, pair.counts[at]?.errors ?? "", pair.counts[at]?.studies ?? ""]);
  return (
    <>
      <p><Isolated>{pair.name}</Isolated>: {pair.summary}</p>
      {pair.notes.map((note) => <p key={note} class="note"><Isolated>{note}</Isolated></p>)}
      <PrintedTable title={words.counts_title} head={words.counts_head} rows={rows} n_left={1} />
      <details>
        <summary>How errors are compared and sorted</summary>
        {about.map((text) => <p key={text} class="small">{text}</p>)}
        <dl class="facts">
          {kinds.map(({ name, label, text }) => <div key={name}><dt>{label}</dt><dd>{text}</dd></div>)}
        </dl>
      </details>
      <Filters pair={pair} kinds={kinds} words={words} wanted={wanted} change={setWanted} />
      {pair.shown && <p class="small">{pair.shown}</p>}
      {loaded && (
        <Studies
          key={`${wanted.kind} ${wanted.category}`}
          studies={shownStudies(loaded.studies, kinds, wanted)}
          pair={pair}
          overview={overview}
        />
      )}
    </>
  );
}

interface FilterProps {
  pair: RaterPair;
  kinds: readonly DifferenceKind[];
  words: DisagreementWords;
  wanted: Wanted;
  change: (wanted: Wanted) => void;
}

function Filters({ pair, kinds, words, wanted, change }: FilterProps) {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <div class="controls">
        <Control id="differences-kind" label={words.kind}>
          <select
            id="differences-kind"
            value={String(wanted.kind)}
            onChange={(event) => change({ ...wanted, kind: Number(event.currentTarget.value) })}
          >
            <option value={String(DIFFERING)}>{words.all_differences}</option>
            {kinds.map(({ name, label }, at) => <option key={name} value={String(at)}>{label}</option>)}
            <option value={String(ALL)}>{words.everything}</option>
          </select>
        </Control>
        {pair.categories.length > 0 && (
          <Control id="differences-category" label={words.category}>
            <select
              id="differences-category"
              value={String(wanted.category)}
              onChange={(event) => change({ ...wanted, category: Number(event.currentTarget.value) })}
            >
              <option value={String(ALL)}>{words.all_categories}</option>
              {pair.categories.map(({ name, text }, at) => <option key={name} value={String(at)}>{text}</option>)}
            </select>
          </Control>
        )}
      </div>
    </form>
  );
}

interface StudiesProps {
  studies: readonly DifferingStudy[];
  pair: RaterPair;
  overview: DisagreementsOverview;
}

function Studies({ studies, pair, overview: { kinds, words } }: StudiesProps) {
  const [nShown, setShown] = useState(N_MORE);
  const n = studies.length;
  const left = n - nShown;
  const counted = n === 1 ? words.one_study : words.many_studies.replace("{n}", String(n));
  return (
    <>
      <div class="count" role="status">{counted}</div>
      {n === 0 && <p class="empty">{words.nothing}</p>}
      {n > 0 && (
        <ScrollingTable kind="differing" caption={words.counts_title}>
          <thead>
            <tr>
              <th scope="col">{words.kind}</th>
              <th scope="col"><Isolated>{pair.a}</Isolated></th>
              <th scope="col"><Isolated>{pair.b}</Isolated></th>
            </tr>
          </thead>
          {studies.slice(0, nShown).map((study) => (
            <StudyErrors key={study.study_id} study={study} kinds={kinds} words={words} />
          ))}
        </ScrollingTable>
      )}
      {left > 0 && (
        <Button data-act="more" onClick={() => setShown(nShown + N_MORE)}>
          {words.more.replace("{n}", String(Math.min(left, N_MORE)))}
        </Button>
      )}
    </>
  );
}

interface StudyProps {
  study: DifferingStudy;
  kinds: readonly DifferenceKind[];
  words: DisagreementWords;
}

function StudyErrors({ study: { study_id: id, address, errors }, kinds, words }: StudyProps) {
  return (
    <tbody>
      <tr>
        <th scope="rowgroup" colSpan={3}>
          <a href={address} data-study={id}><Isolated>{id}</Isolated></a>
        </th>
      </tr>
      {errors.map((error, at) => (
        <tr key={at}>
          <td><KindOf error={error} kinds={kinds} /></td>
          <td><Seen error={error.a} words={words} /></td>
          <td><Seen error={error.b} words={words} /></td>
        </tr>
      ))}
    </tbody>
  );
}

function KindOf({ error: { kind, category }, kinds }: { error: ComparedError; kinds: readonly DifferenceKind[] }) {
  return (
    <>
      {kinds[kind]?.label}
      {category && <span class="small"><Isolated>{category}</Isolated></span>}
    </>
  );
}

function Seen({ error, words }: { error: SeenBy | null; words: DisagreementWords }) {
  if (!error) return <span class="small">{words.not_seen}</span>;
  const { text, level, tone } = error;
  return (
    <>
      <span class={tone ? `severity tone-${tone}` : "severity"}>{level}</span>
      <p><Clipped text={text} /></p>
    </>
  );
}
