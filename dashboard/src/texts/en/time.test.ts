import { expect, test } from "vitest";
import { ago, coarse, duration, exact, took } from "./time";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each([
  [0, "0:00"],
  [-5_000, "0:00"],
  [4 * MINUTE + 12_000, "4:12"],
  [10 * MINUTE, "10 min"],
  [38 * MINUTE, "38 min"],
  [HOUR + 52 * MINUTE, "1 h 52 min"],
  [4 * HOUR, "4 h"],
  [76 * HOUR, "3 d 4 h"],
])("%i ms left reads %s", (left, text) => {
  expect(duration(left)).toBe(text);
});

test("exact durations", () => {
  expect(exact(31_900)).toBe("0:31");
  expect(exact(HOUR + 2 * MINUTE + 3_000)).toBe("1:02:03");
});

test.each([
  [0, "0.1 s"],
  [340, "0.3 s"],
  [999, "0.9 s"],
  [1_000, "0:01"],
])("what took %i ms reads %s", (milliseconds, text) => {
  expect(took(milliseconds)).toBe(text);
});

test("coarse durations have no seconds", () => {
  expect(coarse(30_000)).toBe("less than a minute");
  expect(coarse(3 * HOUR + 10 * MINUTE)).toBe("3 h 10 min");
});

test("times in the past", () => {
  const now = new Date(2026, 10, 16, 16, 0).getTime();
  expect(ago(now - 3 * MINUTE, now)).toBe("3 min ago");
  expect(ago(now - 2 * HOUR, now)).toBe("2 h ago");
  expect(ago(now - 25 * HOUR, now)).toBe("yesterday");
  expect(ago(now - 100 * HOUR, now)).toMatch(/Nov/);
  expect(ago(now + 5_000, now)).toBe("just now");
});
