import { expect, test } from "vitest";
import { ordinal, plural } from "./number";

test.each([
  [1, "1st"],
  [2, "2nd"],
  [3, "3rd"],
  [4, "4th"],
  [11, "11th"],
  [22, "22nd"],
])("%i is %s", (number, text) => {
  expect(ordinal(number)).toBe(text);
});

test("plurals", () => {
  expect(plural(1, "environment")).toBe("1 environment");
  expect(plural(1204, "new line")).toBe("1,204 new lines");
});
