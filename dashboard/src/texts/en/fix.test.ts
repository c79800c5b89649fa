import { expect, test } from "vitest";
import { fix, fixSentence } from "./fix";

const NOW = new Date(2026, 10, 18, 8, 0).getTime();
const deadlineAt = new Date(2026, 10, 18, 10, 0).toISOString();
const one = { runs: 1, succeededRuns: 0, waitingOn: [] };

test.each([
  [
    { ...one, status: "waiting", deadlineAt, waitingOn: [{ kind: "environment", labels: ["fixes"] }] },
    "Waits for a free environment with the label fixes, until 10:00 at the latest.",
  ],
  [
    { ...one, status: "queued", waitingOn: [{ kind: "environment", labels: ["fixes", "large"] }] },
    "Waits for a free environment with the labels fixes, large.",
  ],
  [
    { ...one, status: "reproducing", deadlineAt, waitingOn: [{ kind: "deployment" }] },
    "The failing commit is deployed, and has to fail in the same way, until 10:00 at the latest.",
  ],
  [{ ...one, status: "verifying" }, "The fix is deployed, and has to succeed."],
  [
    { ...one, status: "verifying", runs: 3, succeededRuns: 1 },
    "The fix is deployed, and has to succeed 3 times; 1 of 3 so far.",
  ],
  [
    { ...one, status: "opening", deadlineAt, waitingOn: [{ kind: "forge" }] },
    "It is verified. Waits for the forge to open a draft of the pull request, until 10:00 at the latest.",
  ],
  [{ ...one, status: "failed", reason: "still_red" }, "It fails with the fix too."],
  [{ ...one, status: "refused", reason: "base_deleted" }, "Base deleted."],
  [{ ...one, status: "hibernating" }, "Hibernating."],
])("the sentence of %j", (given, expected) => {
  expect(fixSentence(given, NOW)).toBe(expected);
});

test("what a cancellation ends", () => {
  expect(fix.cancelText("9f3c2a1", "fix-1")).toMatch(/fix-1 is released/);
  expect(fix.cancelText("9f3c2a1", null)).toMatch(/No pull request/);
});
