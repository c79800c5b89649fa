import { expect, test } from "vitest";
import { granteeOf, parseValue, valueOf } from "./grantee";

test("a grant is that of a group or of a user", () => {
  expect(granteeOf({ group: { id: "grp_1", name: "qa" }, user: null })).toEqual({
    kind: "group",
    id: "grp_1",
    name: "qa",
  });
  expect(granteeOf({ group: null, user: { id: "usr_1", name: "June" } })).toEqual({
    kind: "user",
    id: "usr_1",
    name: "June",
  });
});

test("the value of an option leads back to who it is", () => {
  expect(parseValue(valueOf({ kind: "group", id: "grp_1" }))).toEqual({ kind: "group", id: "grp_1" });
  for (const value of ["", "group/", "robot/x"]) expect(parseValue(value), value).toBeUndefined();
});
