// Questions to the service.

const JSON_TYPE = "application/json";

// What the service says is wrong, as its problem details state it.
export class ServiceError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly problem: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

export interface Request {
  method?: string;
  query?: Record<string, string>;
  // A form as it is; anything else is sent as JSON.
  body?: unknown;
}

// The answer of the service, as JSON; `Answer` is one of the types in `api.ts`.
export async function ask<Answer>(path: string, request: Request = {}): Promise<Answer> {
  const response = await answered(path, request);
  return (await response.json()) as Answer;
}

// The answer of the service, unread.
export async function answered(
  path: string,
  { method = "GET", query = {}, body }: Request = {},
): Promise<Response> {
  const headers: Record<string, string> = { Accept: JSON_TYPE };
  let content: BodyInit | null = null;
  if (body instanceof FormData) {
    content = body;
  } else if (body !== undefined) {
    content = JSON.stringify(body);
    headers["Content-Type"] = JSON_TYPE;
  }
  const search = new URLSearchParams(query).toString();
  const address = search ? `${path}?${search}` : path;
  let response: Response;
  try {
    response = await fetch(address, { method, headers, body: content, credentials: "same-origin" });
  } catch {
    throw new ServiceError("The service does not answer. Is `judge serve` still running?", 0);
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function problemOf(response: Response): Promise<ServiceError> {
  const fallback = `The service answered ${response.status}.`;
  if (!response.headers.get("Content-Type")?.includes("json"))
    return new ServiceError(fallback, response.status);
  const problem = (await response.json()) as Record<string, unknown>;
  const said = [problem.detail, problem.title].find((text) => typeof text === "string");
  return new ServiceError(typeof said === "string" ? said : fallback, response.status, problem);
}

// Lets the newest of several questions through: the answer of an older one is null, also where it
// failed.
export class Latest {
  #newest = 0;

  async only<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
    this.#newest += 1;
    const number = this.#newest;
    try {
      const result = await answer;
      return number === this.#newest ? result : null;
    } catch (error) {
      if (number === this.#newest) throw error;
      return null;
    }
  }

  // The answer that is awaited is wanted no longer.
  drop(): void {
    this.#newest += 1;
  }
}
