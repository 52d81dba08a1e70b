// The run behind a service.

export async function ask(path, { method = "GET", body, form } = {}) {
  const request = { method, headers: { Accept: "application/json" }, credentials: "same-origin" };
  if (form) request.body = form;
  if (body !== undefined) {
    request.body = JSON.stringify(body);
    request.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new Error("The service does not answer. Is `judge serve` still running?");
  }
  const data = response.headers.get("Content-Type")?.includes("json") ? await response.json() : null;
  if (!response.ok) {
    throw new Error(data?.detail ?? data?.title ?? `The service answered ${response.status}.`);
  }
  return data;
}

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
