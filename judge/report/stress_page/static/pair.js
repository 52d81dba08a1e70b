// One pair: the reference and the candidate with the changed words marked, the injected change, what
// is expected, and what the judge wrote.

import { clipped, el, fact, newest, said } from "./dom.js";
import { linkMarks } from "./items.js";
import { textOf } from "./overlay.js";
import { judged, report, withItems, words } from "./record.js";
import { capital } from "./words.js";

const EFFECTS = {
  fewer: "the judge found fewer errors than without the text", more: "the judge found more errors than without the text",
  other: "the judge read it otherwise than without the text", unreadable: "the answer cannot be read, and that without the text could",
};

export async function drawPair(app) {
  const { row } = app.state;
  const box = document.getElementById("opened");
  if (row === null) {
    app.opening = null;
    box.replaceChildren();
    return;
  }
  const pair = await newest(app, "opening", app.store.pair(row));
  if (!pair) return;
  const { overview, columns } = app.store;
  const record = withItems(pair.record, overview.rubric, "judge", "");
  // What was changed is marked as a judge's errors are, and has cards of its own.
  const labels = { grade: () => ({ tone: "good" }) };
  const changed = { ...pair.marked, shown: pair.words.map((item, at) => ({ key: `put-${at}`, name: `T${at + 1}`, item, labels })) };
  const marking = [changed, record];
  const side = (name, title, content) => el("section", { class: "report", "aria-labelledby": `${name}-title` },
    el("h4", { id: `${name}-title` }, title), content);
  box.replaceChildren(el("section", { id: "study", "aria-labelledby": "study-title" },
    steps(app),
    el("h3", { id: "study-title", tabindex: "-1" }, "Pair ", said(columns.ids[row])),
    columns.came[row].length ? el("p", {}, el("strong", {}, capital(columns.came[row].map((at) => overview.came[at]).join("; "))),
      pair.effect ? `: ${EFFECTS[pair.effect] ?? pair.effect}.` : ".") : null,
    el("div", { class: "sides" },
      side("reference", "Reference", report(textOf(record.reference), "reference", marking)),
      side("candidate", "Candidate", words([record], marking))),
    el("p", { class: "small" }, "T1, T2, ... with a line above: what was changed. 1, 2, ... with a line below: what the judge's errors speak of."),
    el("div", { class: "sides raters" },
      side("put", "Injected change", putIn(pair, changed.shown, app)),
      side("judge", "What the judge wrote", [judged(record, overview.rubric, null), unread(pair)]))));
  linkMarks(document.getElementById("study"));
}

function putIn(pair, shown, app) {
  const weight = ({ significance }) => significance === "doubtful" ? "radiologists would differ on its significance" : significance;
  return el("div", {},
    el("dl", { class: "facts" },
      fact("change", said(pair.change), pair.does ? [": ", said(pair.does)] : null),
      fact("expected", pair.expected, pair.base === null ? null
        : [": ", el("a", { href: app.addressOf(pair.base) }, said(pair.base))])),
    pair.put_in.length ? el("ul", { class: "matched" }, pair.put_in.map((one) => el("li", {},
      `${one.categories.join(" or ")}, ${weight(one)}`))) : null,
    pair.whole ? el("p", {}, "Rewritten completely.") : null,
    shown.length ? el("ol", { class: "errors" }, shown.map(({ key, name, item: [before, after] }) => el("li", {
      id: `error-${key}`, class: "error tone-good", tabindex: "-1", "data-errors": key,
    },
    el("span", { class: "error-number" }, `${name}  `),
    el("span", { id: `error-${key}-words`, class: "text", dir: "auto" },
      before.trim() ? el("del", {}, ...clipped(before.trim(), said)) : null, before.trim() && after.trim() ? " → " : "",
      after.trim() ? el("ins", {}, ...clipped(after.trim(), said)) : null)))) : null,
    pair.words.length || pair.whole ? null : el("p", {}, "Nothing was changed."));
}

function unread({ answer, record }) {
  if (record.outcome === "annotated") return null;
  return el("div", {}, el("p", { class: "small" }, "It is not scored, and counts in no rate."),
    answer === null ? el("p", {}, "The judge gave no answer.")
      : el("pre", { class: "text mono", dir: "auto", tabindex: "0", "aria-label": "The judge's answer as it was written" }, ...clipped(answer || "(empty)", said)));
}

function steps({ state, listed, step, back }) {
  const at = listed.indexOf(state.row);
  const button = (by, text, enabled, keys) => el("button", {
    type: "button", "data-next": String(by), "aria-keyshortcuts": keys, disabled: at < 0 || !enabled, on: { click: () => step(by) },
  }, text);
  return el("nav", { class: "steps", "aria-label": "Pairs of the list" },
    button(-1, "Previous pair", at > 0, "p"),
    button(1, "Next pair", at + 1 < listed.length, "n"),
    el("button", { type: "button", class: "quiet", on: { click: back } }, "Back to the list"),
    el("span", { class: "small" }, at < 0 ? "not in the list as it is now" : `${(at + 1).toLocaleString("en")} of ${listed.length.toLocaleString("en")}`));
}
