// A stream that is reopened until it says that it is complete.
import { reconnectDelay } from "./backoff";
import { type Message, readStream } from "./stream";

/** `url` is asked for each connection, so that it continues after what was received. */
export async function openStream(
  url: () => string,
  onMessage: (message: Message) => "go on" | "stop",
  signal: AbortSignal,
): Promise<void> {
  const complete = new AbortController();
  const combined = AbortSignal.any([signal, complete.signal]);
  let attempt = 0;
  const handlers = {
    onOpen: () => undefined,
    onByte: () => {
      attempt = 0;
    },
    onMessage: (message: Message) => {
      if (onMessage(message) === "stop") complete.abort();
    },
  };
  while (!combined.aborted) {
    const end = await readStream(url(), handlers, combined);
    attempt += 1;
    const delay = reconnectDelay(end, attempt, Math.random);
    if (delay === undefined || combined.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
}
