// What the lamp shows: live, reconnecting after 2 seconds or if the server is not ready, not live after 30 seconds.

export type Connection =
  | { kind: "connecting"; since: number }
  | { kind: "live" }
  /** `since` is the last moment at which the screen was known to be current. */
  | { kind: "down"; since: number }
  /** The server refused the stream, and reconnecting is pointless. */
  | { kind: "refused"; status: number; since: number };

export type LampState =
  | { kind: "connecting" }
  | { kind: "live" }
  | { kind: "reconnecting"; since: number }
  /** `isReady`: the server is ready, so that actions work. */
  | { kind: "offline"; since: number; isReady: boolean };

const RECONNECTING_AFTER = 2_000;
const OFFLINE_AFTER = 30_000;

/** `notReadySince`: since when the server has not responded, or has responded that it is not ready. */
export function lampOf(connection: Connection, now: number, notReadySince?: number): LampState {
  const isReady = notReadySince === undefined;
  if (connection.kind === "live") {
    if (isReady) return { kind: "live" };
    return now - notReadySince >= OFFLINE_AFTER
      ? { kind: "offline", since: notReadySince, isReady }
      : { kind: "reconnecting", since: notReadySince };
  }
  const { since } = connection;
  if (connection.kind === "refused") return { kind: "offline", since, isReady };
  const age = now - since;
  if (age >= OFFLINE_AFTER) return { kind: "offline", since, isReady };
  if (connection.kind === "connecting") return { kind: "connecting" };
  return age >= RECONNECTING_AFTER ? { kind: "reconnecting", since } : { kind: "live" };
}
