import { expect, test } from "vitest";
import { cadenceOf, isLow, levelOf, timeOf } from "./countdown";

test.each([
  [3_600_000, "half-minute"],
  [620_000, "second"],
  [599_000, "second"],
  [0, "second"],
  [-60_000, "half-minute"],
])("a countdown with %i ms left ticks each %s", (left, cadence) => {
  expect(cadenceOf(left)).toBe(cadence);
});

test("a countdown warns below ten minutes", () => {
  expect(isLow(600_000)).toBe(false);
  expect(isLow(599_999)).toBe(true);
});

test("a level stays between empty and full", () => {
  expect(levelOf(50, 100)).toBe(0.5);
  expect(levelOf(500, 100)).toBe(1);
  expect(levelOf(-5, 100)).toBe(0);
  expect(levelOf(5, 0)).toBe(0);
});

test("a time that cannot be parsed counts as none", () => {
  expect(timeOf("2026-11-15T09:30:00.22242Z")).toBe(Date.UTC(2026, 10, 15, 9, 30, 0, 222));
  expect(timeOf("soon")).toBeUndefined();
  expect(timeOf(null)).toBeUndefined();
});
