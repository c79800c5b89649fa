// Figures of a measurement: printed, kept in the report, and compared with their limits.
import { expect, test } from "@playwright/test";

export type Figures = Record<string, number>;

export function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? 0;
}

/** Reports figures and compares them: none may be above its limit. */
export function report(figures: Figures, limits: Figures): void {
  console.log(JSON.stringify(figures));
  test.info().annotations.push({ type: "figures", description: JSON.stringify(figures) });
  for (const [name, limit] of Object.entries(limits)) expect.soft(figures[name], name).toBeLessThanOrEqual(limit);
}
