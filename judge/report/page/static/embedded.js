// The run inside this very file: columns at once, studies packet by packet.

import { matching, sorted, words } from "./filtering.js";
import { unpacked } from "./packed.js";

export async function embedded() {
  const overview = await unpacked("overview");
  const { columns, order, packet } = await unpacked("columns");
  const levels = overview.rubric.levels.map((level) => level.name);
  const rowOf = new Map(columns.study_id.map((id, row) => [id, row]));
  const names = Object.keys(columns);
  const haystack = new Array(columns.study_id.length);
  let last = { key: null, rows: [] };
  let searchable = null;

  // Between two packets the browser does what else there is to do: a click never waits long.
  async function readAll() {
    for (let first = 0; first < haystack.length; first += packet) {
      const views = await unpacked(`packet-${first / packet}`);
      views.forEach((view, at) => { haystack[first + at] = searched(view); });
    }
  }

  function prepareSearch() {
    searchable ??= readAll();
    return searchable;
  }

  async function rows(query) {
    const key = [...query].filter(([name]) => !["offset", "limit", "study"].includes(name)).join("\n");
    if (last.key === key) return last.rows;
    const wanted = words(query);
    let found = null;
    if (wanted.length) {
      await prepareSearch();
      found = haystack.map((text) => wanted.every((word) => text.includes(word)));
    }
    const matched = matching(columns, query, overview.categories, levels, found);
    last = { key, rows: sorted(matched, columns, order, query) };
    return last.rows;
  }

  return {
    canReview: false,
    prepareSearch,
    overview: async () => ({ view: overview }),
    async studies(query) {
      const found = await rows(query);
      const offset = Number(query.get("offset") ?? 0);
      const page = found.slice(offset, offset + Number(query.get("limit") ?? 50));
      return {
        total: haystack.length,
        matching: found.length,
        offset,
        rows: page.map((row) => ({
          row,
          ...Object.fromEntries(names.map((name) => [name, columns[name][row]])),
        })),
      };
    },
    async study({ id, row = rowOf.get(id) }, query) {
      if (row === undefined) throw new Error(`This run has no study ${JSON.stringify(id)}.`);
      const views = await unpacked(`packet-${Math.floor(row / packet)}`);
      const found = await rows(query);
      const place = found.indexOf(row);
      return {
        row,
        view: views[row % packet],
        position: place < 0 ? null : place,
        matching: found.length,
        previous: found[place - 1] ?? null,
        next: found[place + 1] ?? null,
      };
    },
  };
}

// The same text that the service searches.
function searched(view) {
  const parts = [view.study_id, ...Object.values(view.fields)];
  for (const side of [view.reference, view.candidate]) {
    parts.push(side.map(([text]) => text).join(""));
  }
  for (const error of view.errors) parts.push(error.text, error.edit?.corrected ?? "");
  parts.push(...(view.matched ?? []), view.explanation, view.reason ?? "", view.detail ?? "");
  return parts.join("\n").toLowerCase();
}
