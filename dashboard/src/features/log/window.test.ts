import { expect, test } from "vitest";
import { isAtEnd, MAX_HEIGHT, MAX_ROWS, parseLines, ROW, scrollTopOf, windowOf } from "./window";

const VIEWPORT = 800;

test("a short log scrolls line by line", () => {
  expect(windowOf(1_000, 2_000, VIEWPORT)).toEqual({ height: 20_000, first: 80, count: 80, top: 1_600 });
  expect(windowOf(3, 0, VIEWPORT)).toEqual({ height: 60, first: 0, count: 3, top: 0 });
  expect(windowOf(0, 0, VIEWPORT).count).toBe(0);
});

test("a log of a million lines reaches its first and its last line", () => {
  const lines = 1_000_000;
  const end = windowOf(lines, MAX_HEIGHT - VIEWPORT, VIEWPORT);
  expect(windowOf(lines, 0, VIEWPORT).first).toBe(0);
  expect(end.height).toBe(MAX_HEIGHT);
  expect(end.first + end.count).toBe(lines);
  expect(end.count).toBeLessThanOrEqual(MAX_ROWS);
});

test.each([100, 100_000, 1_000_000])("a jump in a log of %i lines shows the line", (lines) => {
  for (const line of [0, Math.floor(lines / 3), lines - 1]) {
    const scrollTop = Math.min(scrollTopOf(line, lines, VIEWPORT), Math.min(MAX_HEIGHT, lines * ROW) - VIEWPORT);
    const { first, count } = windowOf(lines, scrollTop, VIEWPORT);
    expect(line).toBeGreaterThanOrEqual(first);
    expect(line).toBeLessThan(first + count);
  }
});

test("new lines are followed only at the end", () => {
  expect(isAtEnd(1_200, VIEWPORT, 2_000)).toBe(true);
  expect(isAtEnd(1_100, VIEWPORT, 2_000)).toBe(false);
});

test.each([
  ["#L10", { from: 10, to: 10 }],
  ["#L20-L10", { from: 10, to: 20 }],
  ["#L0", undefined],
  ["#L1-", undefined],
  ["#x", undefined],
  ["", undefined],
])("%s", (hash, expected) => {
  expect(parseLines(hash)).toEqual(expected);
});
