import { expect, test } from "vitest";
import { amountOf, microsOf } from "./money";

test.each([
  ["0.25", 250_000],
  [" 25 ", 25_000_000],
  ["0.000001", 1],
  ["0.07", 70_000],
  ["999999999", 999_999_999_000_000],
])("%s is %d millionths, and back", (text, micros) => {
  expect(microsOf(text)).toBe(micros);
  expect(amountOf(micros)).toBe(text.trim());
});

test.each(["", "-1", "1,5", ".5", "1.", "1e3", "0.0000001", "1000000000"])("%j is not an amount", (text) => {
  expect(microsOf(text)).toBeUndefined();
});

test("zeros before the point stay", () => {
  expect([amountOf(0), amountOf(100_000_000), amountOf(10_500_000)]).toEqual(["0", "100", "10.5"]);
});
