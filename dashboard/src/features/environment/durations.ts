// The durations that a claim offers, up to the longest that the environment allows.

const HOUR = 3_600;
const STEPS = [HOUR / 2, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 12 * HOUR, 24 * HOUR, 72 * HOUR, 168 * HOUR, 336 * HOUR];

/** In seconds, ascending; the default and the longest are always among them. */
export function durationsUpTo(longest: number, standard: number): number[] {
  const all = new Set([...STEPS, standard, longest].filter((seconds) => seconds <= longest));
  return [...all].sort((left, right) => left - right);
}
