// Freezes by whether they hold now, later, or never again. Pure.
import type { Freeze } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import type { FreezeState } from "@/ui/state";

export const GROUPS: readonly FreezeState[] = ["active", "coming", "over"];

/** `active` is that at the time of the read: until and next period hold by the clock. */
export function stateOf({ active, until, nextFrom, nextUntil, endedAt }: Freeze, now: number): FreezeState {
  if (endedAt) return "over";
  if (active && (timeOf(until) ?? Infinity) > now) return "active";
  const [from, to] = [timeOf(nextFrom), timeOf(nextUntil)];
  if (from === undefined) return "over";
  if (from > now) return "coming";
  return to === undefined || to > now ? "active" : "over";
}

/** Those that end, or begin, first are listed first. */
export function groupOf(freezes: readonly Freeze[], state: FreezeState, now: number): Freeze[] {
  const time = (freeze: Freeze) =>
    timeOf(state === "active" ? freeze.until : state === "coming" ? freeze.nextFrom : freeze.to) ?? 0;
  const found = freezes.filter((freeze) => stateOf(freeze, now) === state);
  return found.toSorted((a, b) => (state === "over" ? time(b) - time(a) : time(a) - time(b)));
}
