// When to reconnect. A clean end is followed at once; a failure by a random delay that grows, so that all
// browsers do not return in the same moment.

const BASE = 500;
const MAX = 30_000;
/** The longest delay of the first attempts, which cover the restart of a server. */
const MAX_OF_RESTART = 4_000;
const ATTEMPTS_OF_RESTART = 20;

/** How a connection ended. */
export type End =
  /** The server closed the stream, for example because it shuts down. */
  | { kind: "closed" }
  /** The connection broke, was silent for too long, or could not be opened. */
  | { kind: "lost" }
  /** The server refused the request. */
  | { kind: "refused"; status: number; retryAfter?: number };

/** The delay in milliseconds before attempt number `attempt` (from 1), or `undefined` if reconnecting is pointless. */
export function reconnectDelay(end: End, attempt: number, random: () => number): number | undefined {
  if (end.kind === "refused" && end.status >= 400 && end.status < 500 && end.status !== 429 && end.status !== 408) {
    return undefined;
  }
  if (end.kind === "refused" && end.retryAfter !== undefined) {
    return Math.min(MAX, end.retryAfter * 1_000) + random() * BASE;
  }
  // A server that closes each stream at once must not be asked in a loop.
  if (end.kind === "closed" && attempt <= 1) return 0;
  const max = attempt <= ATTEMPTS_OF_RESTART ? MAX_OF_RESTART : MAX;
  const ceiling = Math.min(max, BASE * 2 ** Math.min(attempt, 10));
  return BASE + random() * (ceiling - BASE);
}
