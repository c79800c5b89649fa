import { expect, test } from "vitest";
import type { LastingEnvironment, Role } from "@/api/types";
import { rightsOf } from "./rights";

const hold = { by: { id: "usr_1", name: "Ana" } } as LastingEnvironment["hold"];

test.each<[Role, string, LastingEnvironment["hold"], boolean]>([
  ["developer", "usr_1", null, false],
  ["maintainer", "usr_1", null, true],
  ["maintainer", "usr_1", hold, true],
  ["maintainer", "usr_2", hold, false],
  ["admin", "usr_2", hold, true],
  // A role that was lowered since.
  ["developer", "usr_1", hold, false],
])("%s %s may hold: %#", (role, userId, held, may) => {
  expect(rightsOf(held, { role, userId }).why === undefined).toBe(may);
});

test("the holder is named to those who can't take over", () => {
  expect(rightsOf(hold, { role: "maintainer", userId: "usr_2" }).why).toContain("Ana");
});
