import { expect, test } from "vitest";
import type { Analysis } from "@/api/types";
import { analysisFor, analysisForFeedback, feedbackBy, isTooLong } from "./choose";

const analysis = (id: string, failureId: string, status: string) => ({ id, failureId, status }) as Analysis;

test("a fix refers to an analysis of the same failure that has succeeded, else to one that is live", () => {
  const newestFirst = [
    analysis("other", "fai_2", "succeeded"),
    analysis("failed", "fai_1", "failed"),
    analysis("live", "fai_1", "collecting"),
    analysis("good", "fai_1", "succeeded"),
  ];
  expect(analysisFor(newestFirst, "fai_1")?.id).toBe("good");
  expect(analysisFor(newestFirst.slice(0, 3), "fai_1")?.id).toBe("live");
  expect(analysisFor(newestFirst.slice(0, 2), "fai_1")).toBeUndefined();
  expect(analysisFor([], "fai_1")).toBeUndefined();
});

test("feedback is about the newest analysis that has ended", () => {
  const newestFirst = [
    analysis("live", "fai_1", "queued"),
    analysis("failed", "fai_1", "failed"),
    analysis("good", "fai_1", "succeeded"),
  ];
  expect(analysisForFeedback(newestFirst, "fai_1")?.id).toBe("failed");
  expect(analysisForFeedback(newestFirst.slice(0, 1), "fai_1")).toBeUndefined();
  expect(analysisForFeedback(newestFirst, "fai_2")).toBeUndefined();
});

test("everyone sees their own answer", () => {
  const at = "2026-11-18T08:00:00Z";
  const feedback = [
    { by: { id: "usr_1", name: "Ana" }, helpful: false, comment: "It was the seed", at },
    { by: { id: "usr_2", name: "Jonas" }, helpful: true, comment: null, at },
  ];
  expect(feedbackBy({ feedback }, "usr_1")).toEqual({ helpful: false, comment: "It was the seed" });
  expect(feedbackBy({ feedback }, "usr_2")).toEqual({ helpful: true, comment: "" });
  expect(feedbackBy({ feedback }, "usr_3")).toBeUndefined();
  expect(feedbackBy({ feedback }, undefined)).toBeUndefined();
});

test("the length of a comment is counted in bytes, as the server does", () => {
  expect(isTooLong("x".repeat(1_000))).toBe(false);
  expect(isTooLong(`${"x".repeat(1_000)}  `)).toBe(false);
  expect(isTooLong("x".repeat(1_001))).toBe(true);
  expect(isTooLong("ü".repeat(501))).toBe(true);
});
