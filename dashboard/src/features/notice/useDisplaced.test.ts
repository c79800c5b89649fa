import { expect, test } from "vitest";
import { isSurprising } from "./useDisplaced";

const someone = { id: "usr_2", name: "Tomás" };
const me = { id: "usr_1", name: "Maya" };

test("an end that the person did not cause is a surprise", () => {
  expect(isSurprising({ status: "overridden", endedBy: someone }, "usr_1")).toBe(true);
  expect(isSurprising({ status: "expired", endedBy: null }, "usr_1")).toBe(true);
  expect(isSurprising({ status: "released", endedBy: someone }, "usr_1")).toBe(true);
});

test("an own release is none, and neither is a session that goes on", () => {
  expect(isSurprising({ status: "released", endedBy: me }, "usr_1")).toBe(false);
  expect(isSurprising({ status: "active", endedBy: null }, "usr_1")).toBe(false);
});
