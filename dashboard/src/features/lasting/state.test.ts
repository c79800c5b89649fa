import { expect, test } from "vitest";
import type { LastingEnvironment } from "@/api/types";
import { statesOf } from "./state";

const NOW = Date.parse("2026-11-17T10:00:00Z");
const LATER = "2026-11-17T11:00:00Z";
const EARLIER = "2026-11-17T09:00:00Z";

const states = (parts: Partial<Record<"freeze" | "hold" | "live", object>>) =>
  statesOf(parts as unknown as LastingEnvironment, NOW);

test("what keeps others out is shown, else what is live", () => {
  expect(states({})).toEqual([]);
  expect(states({ live: {} })).toEqual(["live"]);
  expect(states({ live: {}, hold: { until: LATER } })).toEqual(["held"]);
  expect(states({ live: {}, hold: { until: LATER }, freeze: { until: LATER } })).toEqual(["frozen", "held"]);
});

test("what has ended since it was read is not shown", () => {
  expect(states({ live: {}, hold: { until: EARLIER }, freeze: { until: EARLIER } })).toEqual(["live"]);
});
