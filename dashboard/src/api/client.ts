// The client of the API, typed by its OpenAPI document. Every response sets the clock; every failure is thrown
// as a `Problem`; every change carries an `Idempotency-Key` and is repeated with it while its result is unknown.
import createClient from "openapi-fetch";
import { observeDate } from "@/lib/clock";
import { newKey } from "@/lib/ids";
import { isUncertain, networkProblem, Problem, problemOf, type SuggestedRequest } from "./problem";
import type { paths } from "./schema.gen";

export const BASE_URL = "/api/v1";

const MAX_ATTEMPTS = 3;
const REPEAT_DELAY = 1_000;

/** `fetch` that sets the clock and reports a missing sign-in. The event stream uses it too. */
export async function observedFetch(input: Request): Promise<Response> {
  const sentAt = Date.now();
  const response = await fetch(input);
  observeDate(response.headers.get("Date"), sentAt, Date.now());
  if (response.status === 401) for (const listener of signedOut) listener();
  return response;
}

const signedOut = new Set<() => void>();

/** Calls the listener when the server has rejected the session of this browser. */
export function onSignedOut(listener: () => void): () => void {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

export const api = createClient<paths>({
  baseUrl: BASE_URL,
  fetch: observedFetch,
  // Several values of one parameter are separated by commas.
  querySerializer: { array: { style: "form", explode: false } },
});

type Call<Body> = Promise<{ data?: Body; error?: unknown; response: Response }>;

/** Returns the body of a successful response; throws a `Problem` otherwise. */
export async function unwrap<Body>(call: Call<Body>): Promise<Body> {
  const result = await call.catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw networkProblem(error);
  });
  if (!result.response.ok) {
    throw problemOf(result.response.status, result.error, result.response.headers.get("Retry-After"));
  }
  return result.data as Body;
}

/** Returns the record in `{"data": …}`. */
export async function unwrapData<Data>(call: Call<{ data: Data }>): Promise<Data> {
  return (await unwrap(call)).data;
}

export type ChangeHeaders = { "Idempotency-Key": string };

type Wait = (milliseconds: number) => Promise<void>;

const sleep: Wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Sends a change. While its result is unknown it is sent again with the same key, three times at most. */
export async function change<Result>(send: (headers: ChangeHeaders) => Promise<Result>, wait = sleep): Promise<Result> {
  const headers = { "Idempotency-Key": newKey() };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(headers);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      error.isOfChange = true;
      if (!isUncertain(error) || attempt === MAX_ATTEMPTS) throw error;
      await wait(error.retryAfter === undefined ? REPEAT_DELAY * attempt : error.retryAfter * 1_000);
    }
  }
}

/** Sends a request to an address below `/api/v1` and returns the body of a successful response. */
export function sendJson<Body>(
  method: string,
  href: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Body> {
  const hasBody = body !== undefined && body !== null;
  const init: RequestInit = {
    method,
    headers: hasBody ? { ...headers, "Content-Type": "application/json" } : headers,
    body: hasBody ? JSON.stringify(body) : undefined,
  };
  const call = observedFetch(new Request(href, init)).then(async (response) => {
    const result: unknown = await response.json().catch(() => undefined);
    return response.ok ? { data: result as Body, response } : { error: result, response };
  });
  return unwrap<Body>(call);
}

/** Sends a request that a problem suggests. Its address was checked when the problem was read. */
export function sendSuggested({ method, href, body, headers: own }: SuggestedRequest): Promise<unknown> {
  return change((headers) => sendJson(method, href, body, { ...own, ...headers }));
}
