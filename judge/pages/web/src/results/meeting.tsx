// One screen for a meeting: a model a row, on one page of paper.

import { useLayoutEffect, useState } from "preact/hooks";

import type { FrequentError, Meeting, MeetingErrors, MeetingRate, MeetingRow, MeetingRubric } from "../api.ts";
import { Button, Control, Isolated, ScrollingTable } from "../shared/parts.tsx";
import type { App, Screen } from "./app.tsx";
import { Box } from "./run.tsx";
import { ScreenSection, useLoaded } from "./screen.tsx";

const TITLE = "One screen for a meeting";
// How many lines are printed; the style sheet chooses a size of letters for them.
const N_LINES = "--n-lines";

export function meetingScreen(load: () => Promise<Meeting>): Screen {
  return { name: "meeting", label: TITLE, draw: (app) => <MeetingScreen app={app} load={load} /> };
}

function MeetingScreen({ app, load }: { app: App; load: () => Promise<Meeting> }) {
  const meeting = useLoaded(load);
  const [name, setName] = useState<string | null>(null);
  const rubric = meeting?.rubrics.find((one) => one.name === name) ?? meeting?.rubrics[0] ?? null;
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    style.setProperty(N_LINES, String(rubric?.n_lines ?? 1));
    return () => { style.removeProperty(N_LINES); };
  }, [rubric]);
  if (!meeting) {
    return (
      <ScreenSection app={app} id="meeting" title={TITLE} back="Back">
        <p class="empty">Each model's reports are read. This can take a minute.</p>
      </ScreenSection>
    );
  }
  const tools = (
    <>
      <Button data-act="print" onClick={() => window.print()}>{meeting.print}</Button>
      {meeting.rubrics.length > 1 && rubric && (
        <Control id="meeting-rubric" label={meeting.choice}>
          <select id="meeting-rubric" value={rubric.name} onChange={(event) => setName(event.currentTarget.value)}>
            {meeting.rubrics.map((one) => <option key={one.name} value={one.name}>{one.title}</option>)}
          </select>
        </Control>
      )}
    </>
  );
  return (
    <ScreenSection app={app} id="meeting" title={TITLE} back={meeting.back} tools={tools}>
      <p class="small">{meeting.title}: <Isolated>{meeting.facts}</Isolated></p>
      {rubric ? <RubricTable rubric={rubric} /> : <p class="empty">{meeting.missing}</p>}
    </ScreenSection>
  );
}

function RubricTable({ rubric }: { rubric: MeetingRubric }) {
  const { caption, categories, legend, rows, about } = rubric;
  const n = categories.length;
  return (
    <>
      <ul class="legend">
        {legend.map(({ text, tone }) => (
          <li key={text}><span class={`swatch tone-${tone}`} aria-hidden="true" />{text}</li>
        ))}
      </ul>
      <ScrollingTable kind="meeting" caption={caption}>
        <thead>
          <tr>
            <th scope="col" rowSpan={2} class="who">{rubric.rank_heading}</th>
            <th scope="col" rowSpan={2} class="rates">{rubric.rates_heading}</th>
            {n > 0 && <th scope="colgroup" colSpan={n}>{rubric.errors_heading}</th>}
            <th scope="col" rowSpan={2} class="frequent">{rubric.frequent_heading}</th>
          </tr>
          <tr>
            {categories.map(({ short, title }) => (
              <th key={title} scope="col" class="tally"><abbr title={title}>{short}</abbr></th>
            ))}
          </tr>
        </thead>
        <tbody>{rows.map((row) => <ModelRow key={row.model} row={row} n={n} />)}</tbody>
      </ScrollingTable>
      {about.map((text) => <p key={text} class="small"><Isolated>{text}</Isolated></p>)}
    </>
  );
}

// A row with `n` columns of errors.
function ModelRow({ row, n }: { row: MeetingRow; n: number }) {
  const { model, rank, score, interval, n_scored: nScored, rates, errors, frequent, no_frequent: none } = row;
  const missing = n - errors.length;
  return (
    <tr>
      <th scope="row" class="who">
        <span class="name">{rank}. <Isolated>{model}</Isolated></span>
        {score && <span>{score} <span class="small">{interval}</span></span>}
        <span class="small">{nScored}</span>
      </th>
      <td class="rates">
        <ul>{rates.map((rate) => <Rate key={rate.group} rate={rate} />)}</ul>
      </td>
      {errors.map((cell, at) => <Errors key={at} cell={cell} />)}
      {missing > 0 && <td colSpan={missing} />}
      <td class="frequent">
        {none && <p>{none}</p>}
        <ul>{frequent.map((error) => <Frequent key={error.title} error={error} />)}</ul>
      </td>
    </tr>
  );
}

function Rate({ rate: { group, text, interval, n, value, low, high } }: { rate: MeetingRate }) {
  return (
    <li>
      <span class="clipped" title={group}><Isolated>{group}</Isolated></span>
      <span class="track" aria-hidden="true">
        {value !== null && <Box kind="part" from={null} width={value} />}
        {low !== null && high !== null && <Box kind="whisker" from={low} width={high - low} />}
      </span>
      <span title={n}>{text}</span>
      <span class="small" title={n}>{interval}<span class="unseen">, {n}</span></span>
    </li>
  );
}

function Errors({ cell: { texts, title, parts } }: { cell: MeetingErrors }) {
  return (
    <td class="tally" title={title}>
      <span class="track" aria-hidden="true">
        {parts.map(({ share, tone }, at) => <Box key={at} kind={`part tone-${tone}`} from={null} width={share} />)}
      </span>
      <span class="unseen">{title}</span>
      {texts.map((text, at) => <span key={at} aria-hidden="true">{text}</span>)}
    </td>
  );
}

function Frequent({ error: { text, title, share, interval, study_id: id, address } }: { error: FrequentError }) {
  return (
    <li>
      <span class="clipped" title={title}><Isolated>{text}</Isolated></span>
      <span>{share}</span>
      <span class="small">{interval}</span>
      <a class="clipped" href={address} title={id} data-study={id}><Isolated>{id}</Isolated></a>
    </li>
  );
}
