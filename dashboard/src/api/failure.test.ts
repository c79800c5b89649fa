import { expect, test } from "vitest";
import { pollInterval } from "./failure";

test("evidence is polled while it is collected, and less often after a while", () => {
  expect(pollInterval("collecting", 1)).toBe(1_000);
  expect(pollInterval("collecting", 31)).toBe(5_000);
  expect(pollInterval("ready", 1)).toBe(false);
  expect(pollInterval(undefined, 0)).toBe(false);
});
