// Where the data of a run's page come from: this very file, or a service.

import { ask, unpacked } from "./data.js";

export function fileTransport() {
  const index = unpacked("index");
  const texts = [];
  let reading = null;

  const packetOf = async (row) => {
    const { packet } = await index;
    return { first: row - (row % packet), views: await unpacked(`packet-${Math.floor(row / packet)}`) };
  };

  // While one packet is read, the next is unpacked. Between two the browser does what else there
  // is to do: a click never waits long.
  async function readAll() {
    const { packet, order } = await index;
    let next = 0;
    const read = async () => {
      while (next < order.length) {
        const here = packetOf(next);
        next += packet;
        const { first, views } = await here;
        views.forEach((view, at) => { texts[first + at] = searched(view); });
      }
    };
    await Promise.all([read(), read()]);
  }

  const prepareSearch = () => (reading ??= readAll());

  return {
    canReview: false,
    files: [],
    overview: () => unpacked("overview"),
    index: () => index,
    prepareSearch,
    async search(text) {
      await prepareSearch();
      const words = text.toLowerCase().split(/\s+/);
      return [...texts.keys()].filter((row) => words.every((word) => texts[row].includes(word)));
    },
    async study(row) {
      const { first, views } = await packetOf(row);
      return { view: views[row - first] };
    },
  };
}

// What a search looks through: the same text that `search_text` gives a service.
export function searched(view) {
  const parts = [view.study_id, ...Object.values(view.fields)];
  for (const side of [view.reference, view.candidate]) parts.push(side.map(({ text }) => text).join(""));
  for (const item of view.items) parts.push(item.text, item.edit?.corrected);
  parts.push(...view.lists.flatMap(({ texts }) => texts), view.explanation, view.reason, view.detail);
  return parts.filter((part) => part !== "" && part !== null && part !== undefined).join("\n").toLowerCase();
}

export function serviceTransport(run) {
  const base = `/v1/runs/${encodeURIComponent(run)}`;
  const asked = (name, query) => ask(`${base}/${name}?${new URLSearchParams(query)}`);
  return {
    canReview: true,
    files: ["csv", "parquet", "json"].map((form) => ({
      name: form.toUpperCase(), address: `${base}/results?format=${form}`,
    })),
    reviewsFile: `${base}/reviews.csv`,
    reading: `/read?${new URLSearchParams({ run })}`,
    overview: async () => (await ask(base)).view,
    index: () => ask(`${base}/studies`),
    prepareSearch: () => null,
    search: async (text) => (await asked("search", { q: text })).rows,
    study: (row) => asked("study", { row }),
    reviews: () => ask(`${base}/reviews`),
    review: (event) => ask(`${base}/reviews`, { method: "POST", body: event }),
  };
}
