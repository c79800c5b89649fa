// Reads a log: first what is stored, then, while the step runs, what is added.
import { BASE_URL, observedFetch } from "@/api/client";
import type { LogRef } from "@/api/log";
import { networkProblem, problemOf } from "@/api/problem";
import { openStream } from "@/live";
import type { LogBuffer } from "./buffer";

function logUrl({ org, deployment, step }: LogRef): string {
  const [o, d, s] = [org, deployment, step].map(encodeURIComponent);
  return `${BASE_URL}/organizations/${o}/deployments/${d}/steps/${s}/logs`;
}

export const downloadUrl = logUrl;

/** Appends what is stored beyond what the buffer has. */
export async function readStored(
  ref: LogRef,
  buffer: LogBuffer,
  onBytes: () => void,
  signal: AbortSignal,
): Promise<void> {
  const request = new Request(`${logUrl(ref)}?afterSeq=${buffer.position}`, { signal });
  const response = await observedFetch(request).catch((error: unknown) => {
    throw signal.aborted ? error : networkProblem(error);
  });
  if (!response.ok)
    throw problemOf(response.status, await response.json().catch(() => undefined), response.headers.get("Retry-After"));
  const reader = response.body?.getReader();
  for (;;) {
    const part = await reader?.read();
    if (!part || part.done) return;
    buffer.append(part.value);
    onBytes();
  }
}

/** Follows a log that grows until it is complete. A piece that was received already is left out. */
export function follow(ref: LogRef, buffer: LogBuffer, onBytes: () => void, signal: AbortSignal): Promise<void> {
  const encoder = new TextEncoder();
  return openStream(
    () => `${logUrl(ref)}/stream?afterSeq=${buffer.position}`,
    ({ id, event, data }) => {
      if (event === "end") return "stop";
      if (event !== "log" || id === undefined || id <= buffer.position) return "go on";
      const bytes = encoder.encode((JSON.parse(data) as { text: string }).text);
      buffer.append(bytes, id);
      onBytes();
      return "go on";
    },
    signal,
  );
}
