// The comparison inside this very file: the leaderboard at once, values and reports when asked for.

import { unpacked, unpackedBytes } from "./packed.js";
import { number } from "./words.js";

export async function openStore() {
  const overview = await unpacked("overview");
  const columns = await unpacked("columns");
  const n = columns.study_id.length;
  const valuesOf = new Map();
  let lastPacket = { at: -1, packet: null };

  // One function a metric: the value of a study (by row) for a model, null for not scored.
  async function values(metric) {
    if (!valuesOf.has(metric)) {
      const at = overview.metrics.findIndex(({ name }) => name === metric);
      const { unique, width } = columns.values[metric];
      const buffer = await unpackedBytes(`values-${at}`);
      const bytes = new DataView(buffer);
      valuesOf.set(metric, (row, model) => {
        const place = model * n + row;
        const code = width === 1 ? bytes.getUint8(place) : bytes.getUint16(2 * place, true);
        return code < unique.length ? unique[code] : null;
      });
    }
    return valuesOf.get(metric);
  }

  // The rows of a group's studies, in the order of the file.
  function rowsOf(group) {
    const wanted = Object.entries(group.key).map(([name, value]) => {
      const field = columns.fields[name];
      return [field.rows, field.values.indexOf(value)];
    });
    const rows = [];
    for (let row = 0; row < n; row += 1) {
      if (wanted.every(([codes, code]) => codes[row] === code)) rows.push(row);
    }
    return rows;
  }

  // What the page has of a study's reports: by "model rubric".
  async function reports(row) {
    const at = columns.packets[row];
    if (at < 0) return {};
    if (lastPacket.at !== at) lastPacket = { at, packet: await unpacked(`packet-${at}`) };
    return lastPacket.packet[row];
  }

  return {
    overview,
    values,
    rowsOf,
    reports,
    studyId: (row) => columns.study_id[row],
    // A study's value as it is printed; whole numbers where all of the metric's are.
    valueText(metric, value) {
      if (value === null) return number(null);
      return number(value, columns.values[metric].unique.every(Number.isInteger) ? 0 : 3);
    },
    hasReports: (row) => columns.packets[row] >= 0,
    fieldNames: Object.keys(columns.fields),
    fieldOf: (name, row) => columns.fields[name].values[columns.fields[name].rows[row]],
    figure: async (at) => new Blob([await unpackedBytes(`figure-${at}`)], { type: "image/svg+xml" }),
  };
}

// A cell as the file writes it: denominator, numerator of a rate, figure, interval, place.
export function cellOf([n, k, value, low, high, rank]) {
  return { n, k, value, low, high, rank };
}
