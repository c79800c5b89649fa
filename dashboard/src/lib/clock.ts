// The server's clock, estimated from the `Date` header of responses. Countdowns use it, so that a wrong clock
// of this device changes nothing. `Date` has a resolution of one second; several responses narrow the estimate.

/** The offset of the server's clock, in milliseconds, is between these bounds. */
export type Bounds = { low: number; high: number };

export type Sample = { date: number; sentAt: number; receivedAt: number };

/** A device that slept, or whose clock was set, invalidates the bounds after this time. */
const MAX_BOUNDS_AGE = 10 * 60_000;

export function boundsOf({ date, sentAt, receivedAt }: Sample): Bounds {
  return { low: date - receivedAt, high: date + 1000 - sentAt };
}

/** Intersects both bounds. If they contradict each other, a clock has changed, and the newer ones hold. */
export function narrow(old: Bounds | undefined, sample: Sample): Bounds {
  const bounds = boundsOf(sample);
  if (!old) return bounds;
  const low = Math.max(old.low, bounds.low);
  const high = Math.min(old.high, bounds.high);
  return low <= high ? { low, high } : bounds;
}

let bounds: Bounds | undefined;
let boundsSince = 0;

/** Records the `Date` header of a response. Ignores a header that is missing or not a date. */
export function observeDate(header: string | null, sentAt: number, receivedAt: number): void {
  const date = header ? Date.parse(header) : Number.NaN;
  if (Number.isNaN(date)) return;
  const isStale = receivedAt - boundsSince > MAX_BOUNDS_AGE;
  bounds = narrow(isStale ? undefined : bounds, { date, sentAt, receivedAt });
  if (isStale) boundsSince = receivedAt;
}

/** The time of the server now, in milliseconds since 1970. */
export function serverNow(): number {
  return Date.now() + (bounds ? Math.round((bounds.low + bounds.high) / 2) : 0);
}
