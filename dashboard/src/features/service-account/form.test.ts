import { expect, test } from "vitest";
import { changeOf } from "./form";

test("a change of an account has only what differs", () => {
  const before = { name: "ci", role: "developer" as const, description: null };
  expect(changeOf(before, { name: "ci ", role: "developer", description: " " })).toEqual({});
  expect(changeOf(before, { name: "ci", role: "maintainer", description: "Builds" })).toEqual({
    role: "maintainer",
    description: "Builds",
  });
  expect(changeOf({ ...before, description: "Builds" }, { ...before, description: "" })).toEqual({ description: null });
});
