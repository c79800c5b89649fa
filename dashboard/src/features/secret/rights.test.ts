import { expect, test } from "vitest";
import { mayEdit, mayReadLog, whyNotEdit } from "./rights";

test("maintainers change secrets of pipelines, admins those of the organization", () => {
  expect(mayEdit("developer", "pipeline")).toBe(false);
  expect(mayEdit("maintainer", "environment")).toBe(true);
  expect(mayEdit("maintainer", "organization")).toBe(false);
  expect(mayEdit("admin", "organization")).toBe(true);
});

test("the reason is given for everybody else", () => {
  expect(whyNotEdit("owner", "organization")).toBeUndefined();
  expect(whyNotEdit("maintainer", "organization")).toMatch(/Admins/);
  expect(whyNotEdit(undefined, "pipeline")).toMatch(/Maintainers/);
});

test("maintainers see who has read a secret", () => {
  expect(mayReadLog("maintainer")).toBe(true);
  expect(mayReadLog("developer")).toBe(false);
});
