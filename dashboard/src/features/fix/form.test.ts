import { expect, test } from "vitest";
import { mistakesOf, requestOf } from "./form";

const FAILING = "bad0000000000000000000000000000000000000";
const FIXED = "900d000000000000000000000000000000000000";

test.each([
  [{ commit: FIXED, branch: "fix-migration" }, []],
  [{ commit: `  ${FIXED.toUpperCase()}\n`, branch: " fix " }, []],
  [{ commit: `${FIXED}${"0".repeat(24)}`, branch: "fix" }, []],
  [{ commit: "900d000", branch: "fix" }, ["commit"]],
  [{ commit: `${FIXED}0`, branch: "fix" }, ["commit"]],
  [{ commit: FIXED.replace("d", "g"), branch: "fix" }, ["commit"]],
  [{ commit: FAILING, branch: "fix" }, ["failing"]],
  [{ commit: "", branch: "  " }, ["commit", "branch"]],
])("the mistakes of %j", (form, expected) => {
  expect(mistakesOf(form, FAILING)).toEqual(expected);
});

test("what was pasted around the commit is left out", () => {
  expect(requestOf({ commit: `\t${FIXED.toUpperCase()} `, branch: " fix " })).toEqual({
    commitId: FIXED,
    branch: "fix",
  });
});
