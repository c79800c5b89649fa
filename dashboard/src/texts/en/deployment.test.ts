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
  "freeze",
  "hold",
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

const NOW = Date.parse("2026-11-17T10:00:00Z");
const gate = { stage: "release", environment: "production", until: "2026-11-17T18:00:00Z" };

test("who has a lasting environment, and until when nothing begins there, is named", () => {
  const slot = { kind: "work_slot", deploymentId: "dep_0190a0b0-0000-7000-8000-000000000001" };
  expect(waitingSentence({ ...gate, ...slot }, NOW)).toBe(
    "dep_…00000001 still has production. The stage release begins after it.",
  );
  expect(waitingSentence({ ...gate, kind: "freeze", name: "Weekends" }, NOW)).toMatch(
    /^Frozen until \d\d:00: “Weekends”\. The stage release begins in production when it ends\.$/,
  );
  expect(waitingSentence({ ...gate, kind: "hold", by: { name: "Ana" }, reason: "incident" }, NOW)).toMatch(
    /^Ana holds production until \d\d:00: “incident”\. The stage release begins when the hold ends\.$/,
  );
});

test("an ephemeral environment has no stage that waits", () => {
  expect(waitingSentence({ kind: "work_slot", deploymentId: "dep_1" }, 0)).toBe("dep_1 still has the environment.");
});

test("an approval names its votes, and says if too few people could vote", () => {
  const waiting = { kind: "approval", stage: "release" };
  expect(waitingSentence(waiting, 0)).toBe("release needs an approval.");
  expect(waitingSentence({ ...waiting, needed: 1, have: 0, eligible: 3 }, 0)).toBe(
    "release needs an approval: 0 of 1.",
  );
  expect(waitingSentence({ ...waiting, needed: 2, have: 1, eligible: 1 }, 0)).toBe(
    "release needs 2 approvals: 1 of 2. Too few people could vote.",
  );
});
