// What a service is asked for, and what is said where it cannot answer.

export async function ask(path, { method = "GET", body, form } = {}) {
  const request = { method, headers: { Accept: "application/json" } };
  if (form) request.body = form;
  if (body !== undefined) {
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
  throw new Error(problem?.detail ?? problem?.title ?? `The service answered ${response.status}.`);
}
