// One connection to the event stream. It uses `fetch`, because `EventSource` hides the status and the comments
// that show that the connection is alive.
import { createParser } from "eventsource-parser";
import { observedFetch } from "@/api/client";
import type { End } from "./backoff";

/** The server sends a comment every 15 seconds. A connection without a byte for this long is dead. */
export const SILENCE_TIMEOUT = 35_000;

export type Message = { id: number | undefined; event: string; data: string };

type Handlers = { onOpen: () => void; onByte: () => void; onMessage: (message: Message) => void };

/** Reads the stream until it ends, and returns how it ended. Aborting `signal` ends it as `closed`. */
export async function readStream(url: string, handlers: Handlers, signal: AbortSignal): Promise<End> {
  const silence = new AbortController();
  const watch = watchSilence(() => silence.abort());
  const combined = AbortSignal.any([signal, silence.signal]);
  try {
    const request = new Request(url, { headers: { Accept: "text/event-stream" }, cache: "no-store", signal: combined });
    const response = await observedFetch(request);
    if (!response.ok || !response.body) return refusal(response);
    handlers.onOpen();
    await readBody(response.body, handlers, watch.touch);
    return { kind: "closed" };
  } catch {
    return { kind: signal.aborted ? "closed" : "lost" };
  } finally {
    watch.stop();
  }
}

async function readBody(body: ReadableStream<Uint8Array>, handlers: Handlers, touch: () => void): Promise<void> {
  const parser = createParser({
    onEvent: ({ id, event, data }) => handlers.onMessage({ id: sequenceOf(id), event: event ?? "message", data }),
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    touch();
    handlers.onByte();
    parser.feed(decoder.decode(value, { stream: true }));
  }
}

function refusal(response: Response): End {
  void response.body?.cancel().catch(() => undefined);
  const header = response.headers.get("Retry-After");
  const seconds = header === null ? Number.NaN : Number(header);
  return { kind: "refused", status: response.status, retryAfter: Number.isFinite(seconds) ? seconds : undefined };
}

function sequenceOf(id: string | undefined): number | undefined {
  const number = id === undefined || id === "" ? Number.NaN : Number(id);
  return Number.isSafeInteger(number) ? number : undefined;
}

function watchSilence(onSilence: () => void): { touch: () => void; stop: () => void } {
  let timer = setTimeout(onSilence, SILENCE_TIMEOUT);
  return {
    touch: () => {
      clearTimeout(timer);
      timer = setTimeout(onSilence, SILENCE_TIMEOUT);
    },
    stop: () => clearTimeout(timer),
  };
}
