// Until when a place in a queue is kept. Pure.
import { timeOf } from "./countdown";

type Waiting = { status: string; claimedBy: { kind: string }; heartbeatBy?: string | null };

/** Programs keep their places by heartbeats, so the end of theirs is always near and says nothing. */
export function keptUntil({ status, claimedBy, heartbeatBy }: Waiting): number | undefined {
  return status === "queued" && claimedBy.kind === "user" ? timeOf(heartbeatBy) : undefined;
}
