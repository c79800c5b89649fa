import { expect, test } from "vitest";
import { changeOf, isGroupName } from "./form";

test("names are those that definitions can refer to", () => {
  for (const name of ["a", "release-managers", "team-7"]) expect(isGroupName(name), name).toBe(true);
  for (const name of ["", "7-team", "Release", "a b", "-a", "a_b", "a".repeat(64)])
    expect(isGroupName(name), name).toBe(false);
});

test("a change has only what differs", () => {
  const before = { name: "security", description: "Reads the code" };
  expect(changeOf(before, { name: "security", description: "Reads the code" })).toEqual({});
  expect(changeOf(before, { name: "sec", description: "Reads the code " })).toEqual({ name: "sec" });
  expect(changeOf(before, { name: "security", description: " " })).toEqual({ description: null });
  expect(changeOf({ name: "a" }, { name: "a", description: "" })).toEqual({});
});
