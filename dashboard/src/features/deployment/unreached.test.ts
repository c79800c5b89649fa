import { expect, test } from "vitest";
import { unreached as texts } from "@/texts/en/unreached";
import { unreachedOf } from "./unreached";

const skippedEnvironments = ["production"];

test("without a branch, production was not reached, and the page says what to do", () => {
  expect(unreachedOf({ skippedEnvironments })).toEqual({ environments: ["production"], why: "no_branch" });
  expect(texts.sentence("no_branch", "production")).toMatch(/no branch.*again with its branch/);
});

test("a branch that no repository proves is as good as none", () => {
  expect(unreachedOf({ skippedEnvironments, branch: "main" })?.why).toBe("no_repository");
});

test("a deployment that reached everything, and one of an older server", () => {
  expect(unreachedOf({ skippedEnvironments: [], branch: "main" })).toBeUndefined();
  expect(unreachedOf({})).toBeUndefined();
});
