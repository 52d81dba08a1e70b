// What the page shows, as words after the # of its address: a pair or a study can be linked,
// and whoever comes back from a study's run finds that study open.

import { alarm } from "./dom.js";

// The words, and the part of the state that each tells: how it is written, and how it is read,
// undefined for what this comparison does not have. Names rather than positions, which change
// with the runs.
function vocabulary({ overview, store }) {
  const known = (position) => (position < 0 ? undefined : position);
  const positionIn = (field, names) => ({ field, write: (at) => names[at], read: (text) => known(names.indexOf(text)) });
  const oneOf = (field, names) => ({ field, write: String, read: (text) => names.find((name) => name === text) });
  const metrics = overview.metrics.map(({ name }) => name);
  const other = positionIn("b", overview.models);
  return {
    group: positionIn("group", overview.groups.map(({ name }) => name)),
    metric: oneOf("metric", metrics),
    model: positionIn("tested", overview.models),
    a: positionIn("a", overview.models),
    b: { ...other, read: (text) => (text ? other.read(text) : null) },
    by: oneOf("studyMetric", metrics),
    first: oneOf("first", ["a", "b"]),
    only: oneOf("only", ["all", "unscored", ...(store.isPartial ? ["here"] : [])]),
    marks: oneOf("marks", Object.keys(overview.rubrics)),
    study: { field: "study", write: store.studyId, read: (text) => known(store.rowOf(text)) },
  };
}

function asWords(state, app) {
  const written = Object.entries(vocabulary(app)).map(([name, { field, write }]) =>
    [name, state[field] === null ? "" : write(state[field])]);
  return Object.fromEntries(written);
}

// The state that the address asks for; what it does not name is as at the start.
export function stateOfAddress(app) {
  const state = { ...app.start };
  const known = vocabulary(app);
  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    const value = Object.hasOwn(known, name) ? known[name].read(text) : undefined;
    if (value !== undefined) state[known[name].field] = value;
    else alarm(new Error(`The address asks for what this comparison does not have: ${name} ${text}. The rest of it is shown.`));
  }
  return state;
}

// Writes the state into the address; an `isStep` can be taken back with the browser's Back.
export function keepAddress(app, isStep = false) {
  const start = asWords(app.start, app);
  // A link to a study names both models, whoever ranks first by then.
  const isSaid = ([name, text]) => text !== start[name] || (app.state.study !== null && (name === "a" || name === "b"));
  const said_ = new URLSearchParams(Object.entries(asWords(app.state, app)).filter(isSaid)).toString();
  const address = location.pathname + location.search + (said_ ? `#${said_}` : "");
  if (address === location.pathname + location.search + location.hash) return;
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
