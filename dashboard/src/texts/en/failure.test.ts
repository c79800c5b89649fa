import { expect, test } from "vitest";
import { changeTexts, endedText, endText, lastEndText, newLinesText, verdictSentence } from "./failure";

const NOW = new Date(2026, 10, 17, 17, 40).getTime();
const lastGood = { commitId: "9ab01d2f00", environment: "qa-1", at: new Date(2026, 10, 17, 16, 2).toISOString() };

test.each([
  [
    ["good_before", "commit_changed", "nobody_else"],
    lastGood,
    "good at 16:02 with 9ab01d2 in qa-1; nobody else fails like this",
  ],
  [["others_fail_like_this"], null, "changes of others fail in the same way"],
  [["passed_too"], null, "the same commit passed here too, with the same definition and image"],
  [["never_good"], null, "there is no good run to compare with"],
  [["a_fact_of_a_later_version"], null, ""],
])("the sentence of %j", (because, good, expected) => {
  expect(verdictSentence({ because, lastGood: good }, NOW)).toBe(expected);
});

test("new lines are counted against good runs", () => {
  const log = { lines: 1_893, newLines: 82, baselines: ["a", "b", "c"], skippedBytes: 0 };
  expect(newLinesText(log)).toBe("82 of 1,893 lines are new against 3 good runs");
  expect(newLinesText({ ...log, newLines: 1, baselines: ["a"] })).toBe("1 of 1,893 lines is new against 1 good run");
  expect(newLinesText({ ...log, baselines: [] })).toBe("1,893 lines, and no earlier good run to compare them with");
  expect(newLinesText({ ...log, skippedBytes: 9 })).toMatch(/not read$/);
});

test("what was changed", () => {
  expect(
    changeTexts({
      commits: { from: "9ab01d2f00", to: "3f2c91e700" },
      definition: { from: 12, to: 13, stages: ["deploy"] },
      images: [{ step: "migrate", from: "sha256:1f3a5c7d9e", to: "sha256:77be00aa11" }],
      runner: { from: "one", to: "two" },
    }),
  ).toEqual([
    "commit 9ab01d2 → 3f2c91e",
    "definition v12 → v13 (deploy)",
    "image of migrate 1f3a5c7… → 77be00a…",
    "runner one → two",
  ]);
  expect(changeTexts({ images: [] })).toEqual([]);
});

test("how it ended", () => {
  expect(endedText(1, "step_failed", "0:41")).toBe("exit 1 after 0:41");
  expect(endedText(null, "timed_out", "10:00")).toBe("timed out after 10:00");
  expect(endedText(null, "no_runner", undefined)).toBe("no runner came");
  expect(endedText(null, "reason_of_later", undefined)).toBe("reason of later");
  expect(endText({ kind: "commit", commitId: "c0ffee1234" })).toBe("by commit c0ffee1");
});

test("what has ended elsewhere only has not ended here", () => {
  const commitId = "9f3c2a1b7d";
  expect(endText({ kind: "elsewhere", commitId })).toBe("not here, good elsewhere with 9f3c2a1");
  expect(lastEndText({ kind: "elsewhere", commitId })).toBe("not ended here, good elsewhere with 9f3c2a1");
  expect(lastEndText({ kind: "retry", commitId })).toBe("last ended by a retry of the same commit");
});
