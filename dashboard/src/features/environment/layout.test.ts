import { expect, test } from "vitest";
import { columnsOf, linesOf, looksOf } from "./layout";

test("above 60 environments a board has rows, unless cards were chosen", () => {
  expect(looksOf("auto", 60)).toBe("cards");
  expect(looksOf("auto", 61)).toBe("rows");
  expect(looksOf("cards", 500)).toBe("cards");
  expect(looksOf("rows", 1)).toBe("rows");
});

test("cards stand in as many columns as fit, and in one on phones", () => {
  expect(columnsOf(0)).toBe(1);
  expect(columnsOf(362)).toBe(1);
  expect(columnsOf(923)).toBe(2);
  expect(columnsOf(924)).toBe(3);
  expect(columnsOf(1168)).toBe(3);
});

test("the last line of a grid may be shorter", () => {
  expect(linesOf([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(linesOf([], 3)).toEqual([]);
});
