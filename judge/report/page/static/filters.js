// The form that narrows the list of studies. Its state is the query itself.

import { control, el, option, said } from "./dom.js";
import { capital } from "./words.js";

const WAIT = 120;
const itself = (value) => ({ value, label: value });

export function filterForm({ view, canReview }, labels, query, changed) {
  const { filters } = view;
  let timer = null;
  const set = (name, value, wait = 0) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (value === null) query.delete(name); else query.set(name, value);
      query.delete("offset");
      changed();
    }, wait);
  };
  const id = (name) => `filter-${name.replace(/[^A-Za-z0-9_-]/g, (sign) => `_${sign.codePointAt(0)}`)}`;
  const labelled = (name, text, field) => control(id(name), said(text), field);
  const choice = (name, text, choices) => labelled(name, text, el("select", {
    on: { change: (event) => set(name, choices[event.target.selectedIndex - 1]?.value ?? null) },
  }, option("", "all"), choices.map(({ value, label }, at) =>
    el("option", { selected: query.get(name) === value, value: String(at) }, label))));
  const typed = (name, text, type, more = {}) => labelled(name, text, el("input", {
    type, autocomplete: "off", value: query.get(name) ?? "", ...more,
    on: { input: (event) => set(name, event.target.value || null, WAIT) },
  }));

  const classFilter = () => {
    if (!filters.classes) return typed("has.study_class", "Class contains", "search");
    const classes = filters.classes.map(itself);
    if (filters.no_class) classes.push({ value: "", label: "(none)" });
    return choice("class", "Class", classes);
  };
  const score = ({ name, label }) => {
    const ends = filters.scores[name];
    if (!ends) return null;
    const range = { step: "any", inputmode: "decimal" };
    return el("fieldset", { class: "range" }, el("legend", {}, label),
      typed(`min.${name}`, "from", "number", { ...range, placeholder: String(Math.round(ends.low * 1000) / 1000) }),
      typed(`max.${name}`, "to", "number", { ...range, placeholder: String(Math.round(ends.high * 1000) / 1000) }));
  };
  const field = ({ name, values }) => (values
    ? choice(`field.${name}`, name, values.map(itself))
    : typed(`has.${name}`, `${name} contains`, "search"));

  return el("form", {
    class: "filters",
    role: "search",
    "aria-label": "Studies",
    on: { submit: (event) => event.preventDefault() },
  },
  el("div", { class: "controls" },
    typed("q", "Search in ids, reports, errors", "search", { class: "wide", "aria-keyshortcuts": "/" }),
    classFilter(),
    ...filters.labels.map((name) => choice(name, capital(labels.facet(name).label),
      labels.facet(name).labels.map(({ name: value, text }) => ({ value, label: text })))),
    choice("outcome", "Outcome", filters.outcomes.map((value) => ({ value, label: capital(value) }))),
    canReview ? choice("reviewed", "Reviewed", [itself("yes"), { value: "no", label: "not yet" }]) : null,
    ...filters.fields.filter((one) => one.values && one.values.length > 1 && one.values.length <= 12).map(field)),
  el("details", { class: "more", open: [...query.keys()].some((key) => /^(min|max|has)\./.test(key)) },
    el("summary", {}, "By score and further fields"),
    el("div", { class: "controls" }, ...labels.scores.map(score),
      ...filters.fields.filter((one) => !one.values || one.values.length > 12).map(field))));
}
