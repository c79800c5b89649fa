import { expect, test } from "vitest";
import type { Fix } from "@/api/types";
import { isReproductionLeftOut, reproductionOf, verificationsOf } from "./runs";

const fix = (status: Fix["status"], other: Partial<Fix> = {}) => ({
  status,
  reason: null,
  reproductionId: "dep_red",
  verificationIds: [] as string[],
  succeededRuns: 0,
  ...other,
});

test.each([
  [fix("queued", { reproductionId: null }), undefined],
  [fix("reproducing"), "running"],
  [fix("verifying", { verificationIds: ["dep_1"] }), "red"],
  [fix("refused", { reason: "not_reproduced" }), "green"],
  [fix("failed", { reason: "session_lost" }), undefined],
  [fix("failed", { reason: "still_red", verificationIds: ["dep_1"] }), "red"],
  [fix("opened", { verificationIds: ["dep_1"], succeededRuns: 1 }), "red"],
] as const)("the outcome of the failing commit in %j", (given, expected) => {
  expect(reproductionOf(given)?.outcome).toBe(expected);
});

test("the failing commit is not deployed again if it had failed twice", () => {
  const skipped = fix("verifying", { reproductionId: null, verificationIds: ["dep_1"] });
  expect(reproductionOf(skipped)).toBeUndefined();
  expect(isReproductionLeftOut(skipped)).toBe(true);
  expect(isReproductionLeftOut(fix("waiting", { reproductionId: null }))).toBe(false);
});

test("each run of the fix has its outcome", () => {
  const verificationIds = ["dep_1", "dep_2"];
  const outcomes = (given: Parameters<typeof verificationsOf>[0]) => verificationsOf(given).map((run) => run.outcome);
  expect(outcomes(fix("verifying", { verificationIds, succeededRuns: 1 }))).toEqual(["green", "running"]);
  expect(outcomes(fix("failed", { reason: "still_red", verificationIds, succeededRuns: 1 }))).toEqual(["green", "red"]);
  expect(outcomes(fix("canceled", { reason: "canceled", verificationIds, succeededRuns: 1 }))).toEqual([
    "green",
    undefined,
  ]);
  expect(outcomes(fix("opened", { verificationIds, succeededRuns: 2 }))).toEqual(["green", "green"]);
});
