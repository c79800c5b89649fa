import { expect, test } from "vitest";
import type { FailureEvidence } from "@/api/types";
import { suspectTexts } from "./suspects";

type Changes = NonNullable<FailureEvidence["changes"]>;

const FROM = "9ab01d2000000000000000000000000000000000";
const TO = "3f2c91e000000000000000000000000000000000";

const changes: Changes = {
  commits: { status: "not_connected", from: FROM, to: TO, total: 0, list: [], files: [] },
  definition: { from: 12, to: 13, stages: ["deploy"] },
  images: [{ step: "migrate", from: "sha256:1f3a000000", to: "sha256:77be000000" }],
  runner: { from: "run_1", to: "run_2" },
};

const listed: Changes = {
  ...changes,
  commits: {
    ...(changes.commits as NonNullable<Changes["commits"]>),
    status: "ready",
    total: 2,
    list: [
      { commitId: TO, title: "Add the \u202ecolumn" },
      { commitId: "c0ffee1000000000000000000000000000000000", title: "Seed" },
    ],
  },
};

test("changes have the numbers of the prompt: commits, definition, images, runner", () => {
  const all = suspectTexts(["C1", "C2", "C3", "C4"], changes);
  expect(all).toEqual([
    "commit 9ab01d2 → 3f2c91e",
    "definition v12 → v13 (deploy)",
    expect.stringContaining("image of migrate"),
    expect.stringContaining("runner"),
  ]);
  expect(suspectTexts(["C2", "C3"], listed)).toEqual(["c0ffee1 Seed", "definition v12 → v13 (deploy)"]);
});

test("characters that reorder text are shown", () => {
  expect(suspectTexts(["C1"], listed)).toEqual(["3f2c91e Add the ‹202e›column"]);
});

test("what stands for no change is left out", () => {
  expect(suspectTexts(["C0", "C9", "E1", "C", "", "C1x"], changes)).toEqual([]);
  expect(suspectTexts(["C1"], null)).toEqual([]);
});
