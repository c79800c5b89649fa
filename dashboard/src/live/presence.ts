// Keeps a place in a queue by an open stream of the environment. A stream keeps the place and never confirms a
// turn, so that a turn is not taken while nobody looks.
import { reconnectDelay } from "./backoff";
import { readStream } from "./stream";

const IGNORE = { onOpen: () => undefined, onByte: () => undefined, onMessage: () => undefined };

export type PlaceRef = { org: string; pipeline: string; env: string; session: string };

export function placeUrl({ org, pipeline, env, session }: PlaceRef): string {
  const [o, p, e, s] = [org, pipeline, env, session].map(encodeURIComponent);
  return `/api/v1/organizations/${o}/pipelines/${p}/ephemeral-environments/${e}/events?sessionId=${s}`;
}

/** Holds the stream open until `signal` is aborted or the server refuses it for good. */
export async function keepPlace(ref: PlaceRef, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    const end = await readStream(placeUrl(ref), IGNORE, signal);
    const delay = reconnectDelay(end, attempt, Math.random);
    if (delay === undefined || signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
}
