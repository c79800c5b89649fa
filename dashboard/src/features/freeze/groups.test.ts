import { expect, test } from "vitest";
import type { Freeze } from "@/api/types";
import { groupOf, stateOf } from "./groups";

const NOW = Date.parse("2026-11-17T10:00:00Z");
const at = (hours: number) => new Date(NOW + hours * 3_600_000).toISOString();
const freeze = (parts: Partial<Freeze>): Freeze => ({ active: false, ...parts }) as Freeze;

test.each<[Partial<Freeze>, string]>([
  [{ active: true, until: at(1) }, "active"],
  [{ nextFrom: at(1), nextUntil: at(2) }, "coming"],
  [{ to: at(-1) }, "over"],
  [{ active: true, until: at(1), endedAt: at(-1) }, "over"],
  // Read before the clock passed these times.
  [{ active: true, until: at(-1) }, "over"],
  [{ active: true, until: at(-1), nextFrom: at(5), nextUntil: at(6) }, "coming"],
  [{ nextFrom: at(-1), nextUntil: at(1) }, "active"],
])("%o is %s", (parts, state) => {
  expect(stateOf(freeze(parts), NOW)).toBe(state);
});

test("what comes first is listed first", () => {
  const later = freeze({ nextFrom: at(5) });
  const sooner = freeze({ nextFrom: at(1) });
  expect(groupOf([later, sooner], "coming", NOW)).toEqual([sooner, later]);
});
