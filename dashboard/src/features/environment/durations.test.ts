import { expect, test } from "vitest";
import { durationsUpTo } from "./durations";

test("the default and the longest are offered, and nothing longer", () => {
  expect(durationsUpTo(86_400, 14_400)).toEqual([1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400]);
  expect(durationsUpTo(900, 600)).toEqual([600, 900]);
});
