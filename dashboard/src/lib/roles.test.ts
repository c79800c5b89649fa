import { expect, test } from "vitest";
import { grantableBy, hasRole } from "./roles";

test("a role includes those below it", () => {
  expect(hasRole("maintainer", "developer")).toBe(true);
  expect(hasRole("developer", "developer")).toBe(true);
  expect(hasRole("viewer", "developer")).toBe(false);
});

test("only owners make owners", () => {
  expect(grantableBy("admin")).toEqual(["viewer", "developer", "maintainer", "admin"]);
  expect(grantableBy("owner")).toContain("owner");
});
