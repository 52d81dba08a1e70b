// A run as its page knows it: its studies narrowed, sorted and paged over columns held in memory.
// A query is made of the words after the # of the address. Where the data come from, a transport
// says; all else is one for a file and a service.

export async function openStore(transport) {
  const [view, { columns, order }] = await Promise.all([transport.overview(), transport.index()]);
  const n = order.length;
  const facets = new Map(view.rubric.facets.map(({ name, labels }) => [name, new Set(labels.map((label) => label.name))]));
  const rowOf = new Map(columns.study_id.map((id, row) => [id, row]));
  const rank = new Int32Array(n);
  order.forEach((row, at) => { rank[row] = at; });
  const reviews = new Uint32Array(n);
  let statistics = null;
  let last = { key: null, rows: [] };

  const isColumn = (name) => Object.hasOwn(columns, name);
  const isNumber = (text) => text.trim() !== "" && !Number.isNaN(Number(text));
  const equal = (name, value) => (row) => String(columns[name][row] ?? "") === value;
  // The words of a query, by their names or by what stands before the column's: what each may
  // say, and the test of a row that it asks for.
  const known = {
    q: [() => true],
    class: [() => true, (value) => equal("study_class", value)],
    outcome: [() => true, (value) => equal("outcome", value)],
    ...Object.fromEntries(view.filters.labels.map((name) => [name, [(value) => facets.get(name).has(value)]])),
    reviewed: [(value) => transport.canReview && ["yes", "no"].includes(value),
      (value) => (row) => (reviews[row] > 0) === (value === "yes")],
    sort: [(value) => value === "worst" || isColumn(value)],
    descending: [(value) => ["true", "false"].includes(value)],
    offset: [(value) => /^\d{1,9}$/.test(value)],
    field: [(_, column) => isColumn(column), (value, column) => equal(column, value)],
    has: [(_, column) => isColumn(column),
      (value, column) => (row) => String(columns[column][row] ?? "").toLowerCase().includes(value.toLowerCase())],
    min: [(value, column) => isColumn(column) && isNumber(value),
      (value, column) => (row) => columns[column][row] !== null && columns[column][row] >= Number(value)],
    max: [(value, column) => isColumn(column) && isNumber(value),
      (value, column) => (row) => columns[column][row] !== null && columns[column][row] <= Number(value)],
  };

  function* conditions(query) {
    const asked = view.filters.labels.map((name) => [name, query.get(name)]).filter(([, value]) => value);
    if (asked.length) {
      const counted = counting(view.filters.counts, asked).map(({ name }) => columns[name]);
      yield (row) => counted.some((counts) => counts[row] > 0);
    }
    for (const [key, value] of query) {
      const { kind, column } = parts(key);
      if (known[kind]?.[1]) yield known[kind][1](value, column);
    }
  }

  // Worst first unless a column is asked for; a missing value comes last either way.
  function comparison(query) {
    const name = query.get("sort") ?? "worst";
    const sign = query.get("descending") === "true" ? -1 : 1;
    if (name === "worst") return (one, other) => sign * (rank[one] - rank[other]);
    const column = columns[name];
    return (one, other) => {
      const [left, right] = [column[one], column[other]];
      if (left === null || right === null) return (left === null) - (right === null) || one - other;
      const numeric = typeof left === "number" && typeof right === "number";
      const [a, b] = numeric ? [left, right] : [String(left), String(right)];
      if (a < b) return -sign;
      return a > b ? sign : one - other;
    };
  }

  // The rows of the studies that match, in the order asked for.
  async function matching(query) {
    const key = [...query].filter(([name]) => name !== "offset").join("\n");
    if (last.key === key) return last.rows;
    const tests = [...conditions(query)];
    const text = query.get("q")?.trim();
    if (text) {
      const found = new Set(await transport.search(text));
      tests.push((row) => found.has(row));
    }
    const rows = [];
    for (let row = 0; row < n; row += 1) {
      if (tests.every((test) => test(row))) rows.push(row);
    }
    last = { key, rows: rows.sort(comparison(query)) };
    return rows;
  }

  const store = {
    ...transport,
    view,
    // What readers made of the run, as it was when it was last asked for.
    get statistics() { return statistics; },

    async readReviews() {
      if (!transport.canReview) return;
      const found = await transport.reviews();
      statistics = found.statistics;
      reviews.fill(0);
      for (const { study_id: id } of found.events) if (rowOf.has(id)) reviews[rowOf.get(id)] += 1;
      last = { key: null, rows: [] };
    },

    // The words of a query that ask for what this run does not have.
    unknown: (query) => [...query].filter(([key, value]) => {
      const { kind, column } = parts(key);
      return !Object.hasOwn(known, kind) || !known[kind][0](value, column);
    }).map(([key]) => key),

    // A page of the list: how many studies there are, how many match, and the page's own.
    async page(query, limit) {
      const rows = await matching(query);
      const offset = Number(query.get("offset") ?? 0);
      return {
        total: n,
        matching: rows.length,
        offset,
        studies: rows.slice(offset, offset + limit).map((row) => ({
          id: columns.study_id[row],
          reviews: reviews[row],
          value: (name) => columns[name][row],
        })),
      };
    },

    // A study by its id or its row, and its neighbours among those that match.
    async study({ id, row = rowOf.get(id) }, query) {
      if (row === undefined) throw new Error(`This run has no study ${JSON.stringify(id)}.`);
      const [shown, rows] = await Promise.all([transport.study(row), matching(query)]);
      const position = rows.indexOf(row);
      return {
        ...shown,
        position: position < 0 ? null : position,
        matching: rows.length,
        previous: rows[position - 1] ?? null,
        next: rows[position + 1] ?? null,
      };
    },
  };
  await store.readReviews();
  return store;
}

// The counts that together tell of all labels asked for: those of the fewest further facets.
function counting(counts, asked) {
  const fitting = counts.filter(({ labels }) => asked.every(([facet, value]) => labels[facet] === value));
  const least = Math.min(...fitting.map(({ labels }) => Object.keys(labels).length));
  return fitting.filter(({ labels }) => Object.keys(labels).length === least);
}

// `min.green` is of a kind and about a column; `sort` has its name alone.
function parts(key) {
  const at = key.indexOf(".");
  return at < 0 ? { kind: key, column: null } : { kind: key.slice(0, at), column: key.slice(at + 1) };
}
