// Where data come from: a piece is embedded in this very file, or the service is asked for it.

export async function ask(path, { method = "GET", body } = {}) {
  const request = { method, headers: { Accept: "application/json" } };
  if (body instanceof FormData) {
    request.body = body;
  } else if (body !== undefined) {
    request.body = JSON.stringify(body);
    request.headers["Content-Type"] = "application/json";
  }
  return (await answered(path, request)).json();
}

async function answered(path, request) {
  let response;
  try {
    response = await fetch(path, { ...request, credentials: "same-origin" });
  } catch {
    throw new Error("The service does not answer. Is `judge serve` still running?");
  }
  if (response.ok) return response;
  const problem = response.headers.get("Content-Type")?.includes("json") ? await response.json() : null;
  const text = problem?.detail ?? problem?.title ?? `The service answered ${response.status}.`;
  throw Object.assign(new Error(text), { status: response.status });
}

export const isFile = () => document.documentElement.dataset.mode === "file";

// A piece's bytes by its name. `addressOf` says where the service has it.
async function loadBytes(name, addressOf) {
  if (!isFile()) return (await answered(addressOf(name), {})).arrayBuffer();
  const text = atob(document.getElementById(`data-${name}`).textContent);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export async function load(name, addressOf) {
  return JSON.parse(new TextDecoder().decode(await loadBytes(name, addressOf)));
}

// Numbers by row and series, as doubles; null for no value.
export async function loadSeries(name, n, addressOf) {
  const numbers = new Float64Array(await loadBytes(name, addressOf));
  return (row, series) => {
    const value = numbers[series * n + row];
    return Number.isNaN(value) ? null : value;
  };
}

// The packets of a file, of which the last one is held.
export function packets() {
  let last = { at: -1, packet: null };
  return async (at) => {
    if (last.at !== at) last = { at, packet: await load(`packet-${at}`) };
    return last.packet;
  };
}

// A figure of a file, which its page may show as an image.
export async function figureAddress(at) {
  return URL.createObjectURL(new Blob([await loadBytes(`figure-${at}`)], { type: "image/svg+xml" }));
}
