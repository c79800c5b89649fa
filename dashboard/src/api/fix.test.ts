import { expect, test } from "vitest";
import { pollInterval } from "./fix";

test("fixes are polled while one of them is verified or being opened", () => {
  expect(pollInterval([{ status: "failed" }, { status: "verifying" }])).toBe(5_000);
  expect(pollInterval([{ status: "opening" }])).toBe(5_000);
  expect(pollInterval([{ status: "opened" }, { status: "canceled" }])).toBe(false);
  expect(pollInterval([])).toBe(false);
  expect(pollInterval(undefined)).toBe(false);
});
