// Where a comparison comes from: this very file, or the service that shows it.

import { ask, askBytes, unpacked, unpackedBytes } from "./data.js";

export function fileTransport() {
  let last = { at: -1, packet: null };
  return {
    overview: () => unpacked("overview"),
    columns: () => unpacked("columns"),
    values: (at) => unpackedBytes(`values-${at}`),
    hasReports: (row, columns) => columns.packets[row] >= 0,
    // What the file has of a study's reports, one a model and rubric.
    async reports(row, { columns }) {
      const at = columns.packets[row];
      if (at < 0) return [];
      if (last.at !== at) last = { at, packet: await unpacked(`packet-${at}`) };
      return last.packet[row];
    },
    howToTest: (fields) => `To test it, run judge compare again with --by ${fields}.`,
    figures: () => unpacked("figures"),
    async figure(at) {
      const picture = new Blob([await unpackedBytes(`figure-${at}`)], { type: "image/svg+xml" });
      return URL.createObjectURL(picture);
    },
  };
}

export function serviceTransport(query) {
  const piece = (name) => `/v1/comparison/${name}?${query}`;
  return {
    overview: () => ask(piece("overview")),
    columns: () => ask(piece("columns")),
    values: (at) => askBytes(piece(`values/${at}`)),
    hasReports: () => true,
    // From each model's own runs, as they are kept there.
    async reports(row, { columns, overview, models }) {
      const id = columns.study_id[row];
      const runs = overview.runs.filter(({ model }) => models.includes(model));
      return Promise.all(runs.map(async ({ model, rubric, run }) => {
        const { view } = await ask(`/v1/runs/${encodeURIComponent(run)}/study?${new URLSearchParams({ id })}`);
        return { ...view, model, rubric, lines: candidateLines(view) };
      }));
    },
    howToTest: (fields) => `To test it, write ${fields} into "Test and rank within each" above and compare again.`,
    figures: () => ask(piece("figures")),
    figure: async (at) => piece(`figures/${at}`),
  };
}

// The candidate's numbered lines, where a correction names one of them.
function candidateLines({ edits, items }) {
  if (!items.some(({ edit }) => edit)) return null;
  return edits.filter(({ line }) => line !== null).map(({ before }) => before);
}

// The page of a study in its run, which has its raw answer and takes reviews.
export function studyAddress(run, id) {
  return `/runs/${encodeURIComponent(run)}#${new URLSearchParams({ study: id })}`;
}
