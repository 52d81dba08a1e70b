// What a judge and the readers counted of each study. Studies of which both counted alike are a
// cell: a point of the figures, and a part of the list.

import { unpacked, unpackedBytes } from "./data.js";
import { number, printed } from "./words.js";

export async function openStore() {
  const [overview, columns] = await Promise.all([unpacked("overview"), unpacked("columns")]);
  const n = columns.study_id.length;
  const readers = overview.raters.flatMap(({ is_reader: isReader }, at) => (isReader ? [at] : []));
  const countsOf = new Map();
  let last = { at: -1, packet: null };

  // One function a quantity: what a rater counted of a study (by row), null for nothing.
  async function counts(quantity) {
    if (!countsOf.has(quantity)) {
      const numbers = new Float64Array(await unpackedBytes(`counts-${quantity}`));
      countsOf.set(quantity, (row, rater) => {
        const value = numbers[rater * n + row];
        return Number.isNaN(value) ? null : value;
      });
    }
    return countsOf.get(quantity);
  }

  return {
    overview,
    columns,
    readers,
    judges: overview.raters.flatMap(({ is_reader: isReader }, at) => (isReader ? [] : [at])),
    counts,
    hasReports: (row) => columns.packets[row] >= 0,
    async reports(row) {
      const at = columns.packets[row];
      if (at < 0) return [];
      if (last.at !== at) last = { at, packet: await unpacked(`packet-${at}`) };
      return last.packet[row];
    },
    // The studies that the judge and a reader counted: both counts, their difference, their cell.
    async pairs(quantity, judge) {
      const value = await counts(quantity);
      const found = [];
      for (let row = 0; row < n; row += 1) {
        const own = value(row, judge);
        const said = readers.map((reader) => value(row, reader)).filter((one) => one !== null);
        if (own === null || !said.length) continue;
        const mean = said.reduce((sum, one) => sum + one, 0) / said.length;
        found.push({ row, judge: own, mean, by: own - mean, cell: `${own} ${mean}` });
      }
      return found;
    },
  };
}

// A count, or a mean of counts, as it is printed.
export function countText(value) {
  return value === null ? number(null) : printed(number(value, Number.isInteger(value) ? 0 : 2));
}
