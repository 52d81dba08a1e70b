// The page of a stress test: its tables, the list of pairs, and a pair with its injected change.

import { App, figuresSection, summarySection } from "./app.js";
import { el, isolated } from "./dom.js";
import { NO_VALUE, capital, itemLabels } from "./format.js";
import { Listing, choiceFilter } from "./list.js";
import { load, loadPacket } from "./load.js";

const OPEN_TABLES = 2;
const EFFECTS = {
  fewer: "the judge found fewer errors than without the text", more: "the judge found more errors than without the text",
  other: "the judge read it otherwise than without the text", unreadable: "the answer cannot be read, and that without the text could",
};
// The changes of a report are shown as a judge's errors are.
const CHANGE = { label: "change", plural: "changes" };
const CHANGED = { grade: () => ({ tone: "good", label: "changed" }), tags: () => [], kind: () => CHANGE, noun: CHANGE };

export async function stressPage() {
  const [overview, columns, figures] = await Promise.all([load("overview"), load("columns"), load("figures")]);
  await new App(new StressView(overview, columns, figures)).start();
}

class StressView {
  constructor(overview, index, figures) {
    this.data = overview;
    this.index = index;
    this.figures = figures;
    this.title = document.title;
    this.signature = overview.signature;
    this.notes = overview.notes;
    this.labels = itemLabels(overview.rubric);
    this.listTitle = "Pairs";
  }

  overview() {
    return summarySection("summary", "Summary", this.data.facts, this.data.tables, OPEN_TABLES);
  }

  below() {
    return this.data.has_figures ? figuresSection(this.figures) : null;
  }

  listing() {
    const { ids, study, change, group, k, n_errors: found } = this.index;
    const { outcomes } = this.data;
    const outcomesOf = (row) => this.index.outcomes[row].map((at) => outcomes[at]);
    const valuesOf = (column) => [...new Set(column)];
    return new Listing({
      noun: { label: "pair", plural: "pairs" },
      key: "stress",
      ids,
      columns: [
        { name: "id", label: "pair", kind: "id", value: (row) => ids[row] },
        { name: "group", label: "group", kind: "text", value: (row) => group[row] },
        { name: "outcome", label: "outcome", kind: "text", value: (row) => outcomesOf(row).join("; ") },
        { name: "injected", label: "errors injected", kind: "number", value: (row) => k[row] },
        { name: "found", label: "errors found", kind: "number", value: (row) => found[row], draw: (row) => String(found[row] ?? NO_VALUE) },
      ],
      filters: [
        choiceFilter("group", "Group", valuesOf(group), (row) => group[row]),
        choiceFilter("change", "Change", valuesOf(change), (row) => change[row]),
        choiceFilter("outcome", "Outcome", outcomes, outcomesOf),
        { name: "of", label: "Study id", kind: "text", value: (row) => study[row] },
      ],
    });
  }

  async study(row, app) {
    const { packet, ids } = this.index;
    const pair = (await loadPacket("packet", Math.floor(row / packet)))[row % packet];
    const outcomes = this.index.outcomes[row].map((at) => this.data.outcomes[at]);
    const items = pair.words.map((sides) => ({ kind: "change", text: sides.map((text) => text.trim()).filter(Boolean).join(" → ") }));
    return {
      id: ids[row],
      title: "Pair",
      facts: [
        ["change", isolated(pair.change), pair.does ? [": ", isolated(pair.does)] : null],
        ["expected", pair.expected, pair.base === null ? null : [": ", el("a", { href: app.addressOf(pair.base) }, isolated(pair.base))]],
      ],
      intro: outcomes.length ? el("p", {}, el("strong", {}, capital(outcomes.join("; "))),
        pair.effect ? `: ${EFFECTS[pair.effect] ?? pair.effect}.` : ".") : null,
      columns: [
        {
          key: "change", letter: "T", title: "Injected change", note: injected(pair), labels: { ...CHANGED, hasGraded: !pair.is_rewritten },
          record: { ...pair.marked, items, outcome: "annotated", edits: null, differs: [], lists: [], warnings: [] },
        },
        { key: "judge", letter: "", title: "Judge's findings", labels: this.labels, record: pair.record },
      ],
    };
  }
}

function injected({ categories, significance, is_rewritten: isRewritten }) {
  const weight = significance === "doubtful" ? "radiologists would differ on its significance" : significance;
  const error = categories.length ? `${categories.join(" or ")}, ${weight}` : "";
  return [error, isRewritten ? "Rewritten completely." : ""].filter(Boolean).join("; ");
}
