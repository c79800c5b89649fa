// Whether a registry is being synchronized. The API has no field for it: `nextSyncAt` stays in the past from when a
// synchronization is due until it has ended, and is then minutes ahead again. Pure.
import type { StepRegistry } from "@/api/types";
import { timeOf } from "@/lib/countdown";

/** `soon`: requested, but less than 3 seconds after the last one. `stuck`: no worker has read it. */
export type SyncPhase = "idle" | "soon" | "running" | "stuck";

type Synced = Pick<StepRegistry, "status" | "nextSyncAt" | "deletedAt">;

/** Requests right after a synchronization are delayed by this time at most. */
const MAX_DELAY = 3_000;
/** A synchronization takes 8 minutes at most. */
const MAX_DURATION = 10 * 60_000;
const POLL_FAST = 1_500;
const POLL_SLOW = 60_000;

export function phaseOf({ status, nextSyncAt, deletedAt }: Synced, now: number): SyncPhase {
  const next = timeOf(nextSyncAt);
  if (status === "disabled" || deletedAt || next === undefined || next > now + MAX_DELAY) return "idle";
  if (next > now) return "soon";
  return now - next > MAX_DURATION ? "stuck" : "running";
}

/** How long until registries have to be read again, so that the end of a synchronization is shown. */
export function pollDelay(registries: readonly Synced[], now: number): number {
  const delays = registries.map((registry) => {
    const phase = phaseOf(registry, now);
    if (phase === "soon" || phase === "running") return POLL_FAST;
    const until = (timeOf(registry.nextSyncAt) ?? Number.POSITIVE_INFINITY) - now;
    return phase === "idle" && until > 0 ? Math.max(POLL_FAST, until) : POLL_SLOW;
  });
  return Math.min(POLL_SLOW, ...delays);
}
