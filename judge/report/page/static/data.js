// What a service answers, and data that stand inside this very file.

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

export async function askBytes(path) {
  return (await answered(path, {})).arrayBuffer();
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
  const said = problem?.detail ?? problem?.title ?? `The service answered ${response.status}.`;
  throw Object.assign(new Error(said), { status: response.status });
}

// Each piece of a file's data is compressed in an element of its own.
export async function unpackedBytes(name) {
  const text = atob(document.getElementById(`data-${name}`).textContent);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export async function unpacked(name) {
  return JSON.parse(new TextDecoder().decode(await unpackedBytes(name)));
}
