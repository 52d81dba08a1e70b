// The run behind a service.

import { ask } from "./http.js";

export function service(run) {
  const base = `/v1/runs/${encodeURIComponent(run)}`;
  const asked = (query, extra = {}) => {
    const all = new URLSearchParams(query);
    all.delete("study");
    for (const [name, value] of Object.entries(extra)) all.set(name, value);
    return all.toString();
  };
  return {
    canReview: true,
    prepareSearch: () => null,
    overview: () => ask(base),
    studies: (query) => ask(`${base}/studies?${asked(query)}`),
    study({ id, row }, query) {
      const plain = new URLSearchParams(query);
      plain.delete("offset");
      plain.delete("limit");
      return ask(`${base}/study?${asked(plain, row === undefined ? { id } : { row })}`);
    },
    reviews: () => ask(`${base}/reviews`),
    review: (event) => ask(`${base}/reviews`, { method: "POST", body: event }),
    reviewsFile: `${base}/reviews.csv`,
    resultsFile: (form) => `${base}/results?format=${form}`,
  };
}
