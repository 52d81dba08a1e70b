// What the page shows, as words after the # of its address: a pair or a study can be linked,
// and whoever comes back from a study's run finds that study open.

import { alarm } from "./dom.js";

// The state in words; names rather than positions, which change with the runs.
function asWords(state, { overview, store }) {
  return {
    group: overview.groups[state.group].name,
    metric: state.metric,
    model: overview.models[state.tested],
    a: overview.models[state.a],
    b: state.b === null ? "" : overview.models[state.b],
    by: state.studyMetric,
    first: state.first,
    only: state.only,
    study: state.study === null ? "" : store.studyId(state.study),
  };
}

// How each word is read; undefined for one that this comparison does not know.
function readers({ overview, store }) {
  const at = (field, position) => (position < 0 ? undefined : { [field]: position });
  const model = (field) => (text) => at(field, overview.models.indexOf(text));
  const metric = (field) => (text) => (overview.metrics.some(({ name }) => name === text) ? { [field]: text } : undefined);
  const oneOf = (field, ...known) => (text) => (known.includes(text) ? { [field]: text } : undefined);
  return new Map(Object.entries({
    group: (text) => at("group", overview.groups.findIndex(({ name }) => name === text)),
    metric: metric("metric"),
    model: model("tested"),
    a: model("a"),
    b: (text) => (text ? model("b")(text) : { b: null }),
    by: metric("studyMetric"),
    first: oneOf("first", "a", "b"),
    only: oneOf("only", "all", "unscored", ...(store.isPartial ? ["here"] : [])),
    study: (text) => at("study", store.rowOf(text)),
  }));
}

// The state that the address asks for; what it does not name is as at the start.
export function stateOfAddress(app) {
  const state = { ...app.start };
  const known = readers(app);
  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    const change = known.get(name)?.(text);
    if (change) Object.assign(state, change);
    else alarm(new Error(`The address asks for what this comparison does not have: ${name} ${text}. The rest of it is shown.`));
  }
  return state;
}

// Writes the state into the address; an `isStep` can be taken back with the browser's Back.
export function keepAddress(app, isStep = false) {
  const words = asWords(app.state, app);
  const start = asWords(app.start, app);
  // A link to a study names both models, whoever ranks first by then.
  const isSaid = (name) => words[name] !== start[name] || (app.state.study !== null && (name === "a" || name === "b"));
  const said_ = new URLSearchParams(Object.entries(words).filter(([name]) => isSaid(name))).toString();
  const address = location.pathname + location.search + (said_ ? `#${said_}` : "");
  if (address === location.pathname + location.search + location.hash) return;
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
