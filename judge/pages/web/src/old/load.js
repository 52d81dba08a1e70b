// The data of a page by their names: embedded in the file itself, or asked of the service.

// The answer of the service, as JSON; the request has perhaps a `method` and a `body`.
export async function ask(path, request = {}) {
  const { method = "GET", body } = /** @type {any} */ (request);
  const isForm = body instanceof FormData;
  const headers = { Accept: "application/json", ...(body && !isForm ? { "Content-Type": "application/json" } : {}) };
  return (await answered(path, { method, headers, body: isForm ? body : JSON.stringify(body) })).json();
}

async function answered(path, request = {}) {
  const response = await fetch(path, { ...request, credentials: "same-origin" }).catch(() => {
    throw new Error("The service does not answer. Is `judge serve` still running?");
  });
  if (response.ok) return response;
  const problem = response.headers.get("Content-Type")?.includes("json") ? await response.json() : null;
  throw new Error(problem?.detail ?? problem?.title ?? `The service answered ${response.status}.`);
}

export const isFile = () => document.documentElement.dataset.mode === "file";

async function loadBytes(name) {
  const { source } = document.documentElement.dataset;
  if (!isFile()) return (await answered(`/data/${source}/${name}${location.search}`)).arrayBuffer();
  const text = atob(document.getElementById(`data-${name}`).textContent);
  const bytes = Uint8Array.from(text, (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export async function load(name) {
  return JSON.parse(new TextDecoder().decode(await loadBytes(name)));
}

// Numbers of `n` rows and some series, as doubles.
export async function loadSeries(name, n) {
  const numbers = new Float64Array(await loadBytes(name));
  return (row, series) => {
    const value = numbers[series * n + row];
    return Number.isNaN(value) ? null : value;
  };
}

export async function figureAddress(number) {
  return URL.createObjectURL(new Blob([await loadBytes(`figure-${number}`)], { type: "image/svg+xml" }));
}
