import { expect, test } from "vitest";
import { bodyOf, branchesOf, mistakeOf } from "./commit";

const COMMIT = "9f3c2a1b7d";

test("the branch is sent with the commit, and left out if none is named", () => {
  expect(bodyOf({ commitId: COMMIT, branch: "main" })).toEqual({ commitId: COMMIT, branch: "main" });
  expect(bodyOf({ commitId: COMMIT, branch: "" }).branch).toBeUndefined();
});

test.each([
  [{ commitId: COMMIT, branch: "main" }, false, undefined],
  [{ commitId: "", branch: "" }, true, undefined],
  [{ commitId: "", branch: "" }, false, /7 to 64/],
  [{ commitId: "main", branch: "" }, true, /7 to 64/],
  [{ commitId: "", branch: "main" }, true, /commit/],
])("%o, optional %s: %s", (commit, isOptional, mistake) => {
  const found = mistakeOf(commit, isOptional);
  if (mistake) expect(found).toMatch(mistake);
  else expect(found).toBeUndefined();
});

test("each branch is suggested once, the last one first", () => {
  const seen = [{ branch: "fix-1" }, {}, { branch: "main" }, { branch: null }, { branch: "fix-1" }];
  expect(branchesOf(seen)).toEqual(["fix-1", "main"]);
});
