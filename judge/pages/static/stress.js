// The page of a stress test: its tables, the list of pairs, and a pair with what was changed in it.

import { el, isolated, printedTable } from "./dom.js";
import { App, factList, figuresSection } from "./app.js";
import { Listing, choiceFilter } from "./list.js";
import { figureAddress, load, packets } from "./load.js";
import { capital, itemLabels } from "./words.js";

const OPEN_TABLES = 2;
const EFFECTS = {
  fewer: "the judge found fewer errors than without the text", more: "the judge found more errors than without the text",
  other: "the judge read it otherwise than without the text", unreadable: "the answer cannot be read, and that without the text could",
};
// What was changed is shown as a judge's errors are.
const CHANGE = { label: "change", plural: "changes" };
const CHANGED = { grade: () => ({ tone: "good", label: "changed" }), tags: () => [], kind: () => CHANGE, noun: CHANGE, hasGraded: true };

export async function stressPage() {
  const [overview, columns, figures] = await Promise.all([load("overview"), load("columns"), load("figures")]);
  await new App(new StressView(overview, columns, figures)).start();
}

class StressView {
  constructor(overview, index, figures) {
    Object.assign(this, { data: overview, index, figures, title: document.title, signature: overview.signature, notes: overview.notes });
    this.labels = itemLabels(overview.rubric);
    this.packetOf = packets();
    this.listTitle = "Pairs";
  }

  overview() {
    const tables = this.data.tables.map(printedTable);
    const more = this.data.tables.slice(OPEN_TABLES).map(({ title }) => title);
    return el("section", { id: "summary", "aria-labelledby": "summary-title" },
      el("h2", { id: "summary-title" }, "Summary"),
      factList(this.data.facts),
      tables.slice(0, OPEN_TABLES),
      more.length ? el("details", {}, el("summary", {}, `More tables: ${more.join("; ")}`), tables.slice(OPEN_TABLES)) : null);
  }

  below() {
    return this.data.n_figures === 0 ? null : figuresSection(this.figures, figureAddress);
  }

  listing() {
    const { ids, study, studies, change, changes, came, k, n_errors: found } = this.index;
    const { came: outcomes } = this.data;
    const cameOf = (row) => came[row].map((at) => outcomes[at]);
    return new Listing({
      noun: { label: "pair", plural: "pairs" },
      key: "stress",
      ids,
      columns: [
        { name: "id", label: "pair", kind: "id", value: (row) => ids[row] },
        { name: "group", label: "group", kind: "text", value: (row) => changes[change[row]].group },
        { name: "outcome", label: "outcome", kind: "text", value: (row) => cameOf(row).join("; ") },
        { name: "injected", label: "errors injected", kind: "number", value: (row) => k[row] },
        { name: "found", label: "errors found", kind: "number", value: (row) => found[row], draw: (row) => String(found[row] ?? "n/a") },
      ],
      filters: [
        choiceFilter("group", "Group", [...new Set(changes.map(({ group }) => group))], (row) => [changes[change[row]].group]),
        choiceFilter("change", "Change", changes.map(({ name }) => name), (row) => [changes[change[row]].name]),
        choiceFilter("outcome", "Outcome", outcomes, cameOf),
        { name: "of", label: "Study id", kind: "text", value: (row) => studies[study[row]] },
      ],
    });
  }

  async study(row, app) {
    const pair = (await this.packetOf(Math.floor(row / this.index.packet)))[row % this.index.packet];
    const outcomes = this.index.came[row].map((at) => this.data.came[at]);
    const intro = outcomes.length ? el("p", {}, el("strong", {}, capital(outcomes.join("; "))),
      pair.effect ? `: ${EFFECTS[pair.effect] ?? pair.effect}.` : ".") : null;
    return {
      id: this.index.ids[row],
      title: "Pair",
      facts: [
        ["change", isolated(pair.change), pair.does ? [": ", isolated(pair.does)] : null],
        ["expected", pair.expected, pair.base === null ? null : [": ", el("a", { href: app.addressOf(pair.base) }, isolated(pair.base))]],
      ],
      intro,
      columns: [
        { key: "change", letter: "T", title: "Injected change", labels: { ...CHANGED, hasGraded: !pair.whole }, record: changes(pair), note: injected(pair) },
        { key: "judge", letter: "", title: "What the judge wrote", labels: this.labels, record: pair.record },
      ],
    };
  }
}

// What was changed, as a record whose items are the changes.
function changes({ marked, words }) {
  const items = words.map((sides) => ({ kind: "change", text: sides.map((text) => text.trim()).filter(Boolean).join(" → ") }));
  return { ...marked, items, outcome: "annotated", edits: null, differs: [], lists: [], warnings: [] };
}

function injected({ put_in: errors, whole }) {
  const weight = ({ significance }) => (significance === "doubtful" ? "radiologists would differ on its significance" : significance);
  const texts = errors.map((error) => `${error.categories.join(" or ")}, ${weight(error)}`);
  return [...texts, whole ? "Rewritten completely." : ""].filter(Boolean).join("; ");
}
