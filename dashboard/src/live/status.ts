// What the lamp shows: live, reconnecting after 2 seconds, not live after 30.

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
  | { kind: "offline"; since: number };

const RECONNECTING_AFTER = 2_000;
const OFFLINE_AFTER = 30_000;

export function lampOf(connection: Connection, now: number): LampState {
  if (connection.kind === "live") return { kind: "live" };
  if (connection.kind === "refused") return { kind: "offline", since: connection.since };
  const age = now - connection.since;
  if (age >= OFFLINE_AFTER) return { kind: "offline", since: connection.since };
  if (connection.kind === "connecting") return { kind: "connecting" };
  return age >= RECONNECTING_AFTER ? { kind: "reconnecting", since: connection.since } : { kind: "live" };
}
