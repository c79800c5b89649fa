import { expect, test } from "vitest";
import { pollInterval } from "./analysis";

test("analyses are polled until all of them have ended", () => {
  expect(pollInterval(undefined)).toBe(false);
  expect(pollInterval([])).toBe(false);
  expect(pollInterval([{ status: "succeeded" }, { status: "refused" }])).toBe(false);
  expect(pollInterval([{ status: "succeeded" }, { status: "analyzing" }])).toBe(5_000);
});
