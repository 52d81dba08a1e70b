// What can be done with the words, the line or the mark that is chosen: a button for each key.

import { el, isolated } from "./dom.js";
import { wordsOf } from "./cards.js";
import { kindOf, labelled, ofKind } from "./draft.js";
import { capital } from "./words.js";

const HINTS = {
  words: "Select words: in the candidate what is wrong, in the reference what is missing.",
  lines: "Choose a line of the candidate and change it, delete it, or put one in before it.",
};

// A button with its key; the words that are selected stay so when it is pressed.
export function button(act, text, key, click, { pressed, tone, disabled, main } = {}) {
  return el("button", {
    type: "button", "data-act": act, class: [tone && `tone-${tone}`, main && "main"].filter(Boolean).join(" ") || null,
    "aria-pressed": pressed === undefined ? null : String(pressed), "aria-keyshortcuts": /^[A-Z]$/.test(key) ? `Shift+${key}` : key, disabled,
    on: { click, mousedown: (event) => event.preventDefault() },
  }, key ? el("kbd", { "aria-hidden": "true" }, key) : null, key ? " " : "", text);
}

export function idle(desk) {
  const { lines, range } = desk;
  const end = lines && lines.at === lines.lines.length;
  const hint = lines ? HINTS.lines : HINTS.words;
  return [
    el("p", { id: "words-hint", class: "small hint" }, range ? isolated(`“${range.text}”`) : hint),
    lines ? el("div", { class: "tools" },
      button("change", "Change line", "Enter", () => desk.begin("change"), { disabled: end }),
      button("delete", "Delete line", "Del", () => desk.begin("delete"), { disabled: end }),
      button("insert", end ? "Put in at the end" : `Put in before line ${lines.at}`, "i", () => desk.begin("insert"))) : null,
  ].filter(Boolean);
}

export function labelling(desk, item) {
  const { kinds, draft, chosen } = desk;
  const kind = kindOf(kinds, item);
  const others = item.edit ? [] : kinds.filter((one) => one !== kind);
  const named = ({ label, key }) => label.replace(new RegExp(`^${key} `), "");
  return [
    el("p", { id: "words-hint", class: "hint" },
      el("span", { class: "small" }, draft ? "Marking " : `Mark ${chosen + 1}: `), isolated(`“${wordsOf(item)}”`)),
    ...kind.facets.map((facet) => el("div", { class: "tools", role: "group", "aria-label": capital(facet.label) },
      facet.labels.map((label) => button(`${facet.name}-${label.name}`, named(label), label.key,
        () => desk.settle(labelled(kinds, item, facet.name, label.name)),
        { pressed: Boolean(item.labels[facet.name]?.includes(label.name)), tone: label.tone })))),
    el("div", { class: "tools" },
      others.map((one) => button(`kind-${one.name}`, capital(one.label), one.key, () => desk.settle(ofKind(item, one)))),
      draft ? null : button("remove", "Delete mark", "X", () => desk.remove()),
      button("cancel", draft ? "Cancel" : "Close", "Esc", () => desk.cancel())),
  ];
}
