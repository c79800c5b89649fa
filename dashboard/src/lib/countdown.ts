// Decisions of a countdown: how often it ticks, how much of its rail is full, and when it warns.
import type { Cadence } from "./ticker";

/** Below this, a countdown shows seconds and warns. */
export const WARN_BELOW = 10 * 60_000;

/** A margin of one slow tick, so that the first fast tick is not late. */
const SLOW_TICK = 30_000;

export function cadenceOf(left: number): Cadence {
  return left > -SLOW_TICK && left < WARN_BELOW + SLOW_TICK ? "second" : "half-minute";
}

export function isLow(left: number): boolean {
  return left < WARN_BELOW;
}

/** The part of a rail of `span` milliseconds that `left` fills, from 0 to 1. */
export function levelOf(left: number, span: number): number {
  if (span <= 0) return 0;
  return Math.min(1, Math.max(0, left / span));
}

/** Parses a time of the API. `undefined` for none, and for one that is not a time. */
export function timeOf(value: string | null | undefined): number | undefined {
  if (!value) return undefined;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : time;
}
