// Which studies match, and in which order, over columns held in memory.
// A query is made of the parameters that the service takes too.

export function matching(columns, query, letters, levels, found) {
  const tests = [...conditions(columns, query, letters, levels)];
  if (found) tests.push((row) => found[row]);
  const rows = [];
  const length = columns.study_id.length;
  for (let row = 0; row < length; row += 1) {
    if (tests.every((test) => test(row))) rows.push(row);
  }
  return rows;
}

function* conditions(columns, query, letters, levels) {
  const equal = (name, value) => (row) => String(columns[name][row] ?? "") === value;
  if (query.has("class")) yield equal("study_class", query.get("class"));
  if (query.get("outcome")) yield equal("outcome", query.get("outcome"));
  const [category, level] = [query.get("category"), query.get("level")];
  if (category) {
    const counted = (level ? [level] : levels).map((name) => columns[`${name}_${category}`]);
    yield (row) => counted.some((counts) => counts[row] > 0);
  } else if (level) {
    yield (row) => columns[`n_${level}`][row] > 0;
  }
  for (const [key, value] of query) {
    const [kind, name] = [key.slice(0, key.indexOf(".")), key.slice(key.indexOf(".") + 1)];
    if (value === "" || !Object.hasOwn(columns, name)) continue;
    const column = columns[name];
    if (kind === "field") yield equal(name, value);
    if (kind === "has") {
      const part = value.toLowerCase();
      yield (row) => String(column[row] ?? "").toLowerCase().includes(part);
    }
    const least = Number(value);
    if (Number.isNaN(least)) continue;
    if (kind === "min") yield (row) => column[row] !== null && column[row] >= least;
    if (kind === "max") yield (row) => column[row] !== null && column[row] <= least;
  }
}

// Worst first unless a column is asked for; a missing value comes last either way.
export function sorted(rows, columns, order, query) {
  const name = query.get("sort") ?? "worst";
  const sign = query.get("descending") === "true" ? -1 : 1;
  if (name === "worst" || !Object.hasOwn(columns, name)) {
    const rank = new Int32Array(order.length);
    order.forEach((row, place) => { rank[row] = place; });
    return rows.sort((one, other) => sign * (rank[one] - rank[other]));
  }
  const column = columns[name];
  return rows.sort((one, other) => {
    const [left, right] = [column[one], column[other]];
    if (left === null || right === null) return (left === null) - (right === null) || one - other;
    const numeric = typeof left === "number" && typeof right === "number";
    const [a, b] = numeric ? [left, right] : [String(left), String(right)];
    if (a < b) return -sign;
    return a > b ? sign : one - other;
  });
}

export function words(query) {
  return (query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
}
