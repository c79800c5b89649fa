// The leader tab: holds the lock of the organization, reads the stream, and shares it. The lock is released by
// the browser when the tab closes, and the next tab continues after the last event that it has seen.
import { newestSequence, streamUrl } from "@/api/event";
import { Problem } from "@/api/problem";
import type { Event } from "@/api/types";
import { type End, reconnectDelay } from "./backoff";
import type { Connection } from "./status";
import { type Message, readStream } from "./stream";

export type Leader = {
  org: string;
  /** The last event that this tab has seen; `undefined` before the first connection. */
  lastSequence: () => number | undefined;
  onEvent: (event: Event) => void;
  onReset: (sequence: number) => void;
  /** A new start: reads from before it may have missed changes. */
  onStart: (sequence: number) => void;
  onConnection: (connection: Connection) => void;
};

/** Reads the stream until `signal` is aborted or the server refuses it for good. */
export async function lead(leader: Leader, signal: AbortSignal): Promise<void> {
  let attempt = 0;
  let lastByte = Date.now();
  leader.onConnection({ kind: "connecting", since: lastByte });
  while (!signal.aborted) {
    const end = await connect(leader, signal, {
      onOpen: () => leader.onConnection({ kind: "live" }),
      onByte: () => {
        attempt = 0;
        lastByte = Date.now();
        leader.onConnection({ kind: "live" });
      },
    });
    if (signal.aborted) return;
    attempt += 1;
    const delay = reconnectDelay(end, attempt, Math.random);
    if (delay === undefined && end.kind === "refused") {
      leader.onConnection({ kind: "refused", status: end.status, since: lastByte });
      return;
    }
    leader.onConnection({ kind: "down", since: lastByte });
    await waitOrOnline(delay ?? 0, signal);
  }
}

async function connect(
  leader: Leader,
  signal: AbortSignal,
  alive: { onOpen: () => void; onByte: () => void },
): Promise<End> {
  let after = leader.lastSequence();
  if (after === undefined) {
    try {
      after = await newestSequence(leader.org, signal);
    } catch (error) {
      return endOf(error);
    }
    leader.onStart(after);
  }
  const onMessage = (message: Message) => receive(leader, message);
  return readStream(streamUrl(leader.org, after), { ...alive, onMessage }, signal);
}

function receive(leader: Leader, message: Message): void {
  if (message.event === "reset") {
    if (message.id !== undefined) leader.onReset(message.id);
    return;
  }
  try {
    leader.onEvent(JSON.parse(message.data) as Event);
  } catch {
    // Not an event that this version can read; the next one may be.
  }
}

function endOf(error: unknown): End {
  if (error instanceof Problem && error.status > 0) {
    return { kind: "refused", status: error.status, retryAfter: error.retryAfter };
  }
  return { kind: "lost" };
}

/** Waits for the delay, but not while the browser reports that it is online again. */
function waitOrOnline(delay: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, delay);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
