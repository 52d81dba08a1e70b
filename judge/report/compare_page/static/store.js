// The comparison: the leaderboard at once, values and reports when they are asked for.

import { number, printed } from "./words.js";

export async function openStore(transport) {
  const [overview, columns] = await Promise.all([transport.overview(), transport.columns()]);
  const n = columns.study_id.length;
  const valuesOf = new Map();

  // One function a metric: the value of a study (by row) for a model, null for not scored.
  async function values(metric) {
    if (!valuesOf.has(metric)) {
      const at = overview.metrics.findIndex(({ name }) => name === metric);
      const numbers = new Float64Array(await transport.values(at));
      valuesOf.set(metric, (row, model) => {
        const value = numbers[model * n + row];
        return Number.isNaN(value) ? null : value;
      });
    }
    return valuesOf.get(metric);
  }

  // The rows of a group's studies, in the order of the file.
  function rowsOf(group) {
    const wanted = Object.entries(group.key).map(([name, value]) => {
      const { rows: codes, values: texts } = columns.fields[name];
      return { codes, code: texts.indexOf(value) };
    });
    const rows = [];
    for (let row = 0; row < n; row += 1) {
      if (wanted.every(({ codes, code }) => codes[row] === code)) rows.push(row);
    }
    return rows;
  }

  return {
    ...transport,
    overview,
    values,
    rowsOf,
    reports: (row, models) => transport.reports(row, { columns, overview, models }),
    studyId: (row) => columns.study_id[row],
    rowOf: (id) => columns.study_id.indexOf(id),
    // A study's value as it is printed; whole numbers where all of the metric's are. Of a
    // rate a study has but whether it has such errors.
    valueText(metric, value) {
      if (value === null) return number(null);
      if (metric.kind === "rate") return value === 1 ? "none" : "some";
      return printed(number(value, columns.whole.includes(metric.name) ? 0 : 3));
    },
    // Whether the reports of some studies are elsewhere.
    isPartial: "records" in overview && overview.records.here < overview.records.all,
    hasReports: (row) => transport.hasReports(row, columns),
    fieldNames: Object.keys(columns.fields),
    fieldOf: (name, row) => columns.fields[name].values[columns.fields[name].rows[row]],
  };
}
