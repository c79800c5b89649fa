import { expect, test } from "vitest";
import { waitingSentence, waitingWord } from "./deployment";

test.each([
  "work_slot",
  "pipeline_stopped",
  "pipeline_archived",
  "concurrency",
  "runner",
  "retry",
  "approval",
  "running_steps",
  "engine",
])("%s has a word and a sentence of its own", (kind) => {
  expect(waitingWord({ kind })).not.toBe("Waiting");
  expect(waitingSentence({ kind }, 0)).not.toMatch(/^Waits for: /);
});

test("a kind of a later version is named", () => {
  expect(waitingSentence({ kind: "full_moon" }, 0)).toBe("Waits for: full_moon.");
});

test("a stage and its pool are named", () => {
  expect(waitingSentence({ kind: "runner", stage: "build", pool: "gpu" }, 0)).toBe(
    "build waits for a runner of pool gpu.",
  );
});
