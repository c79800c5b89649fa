import { expect, test } from "vitest";
import { isCancelable, whyNotCancel, whyNotPropose } from "./rights";

const requestedBy = { id: "usr_1", name: "Ana" };

test("developers propose fixes", () => {
  expect(whyNotPropose({ role: "viewer" })).toMatch(/you are a viewer/);
  expect(whyNotPropose({ role: "developer" })).toBeUndefined();
  expect(whyNotPropose({ role: "owner" })).toBeUndefined();
});

test.each([
  ["usr_1", "developer", true],
  ["usr_2", "developer", false],
  ["usr_2", "maintainer", true],
  ["usr_1", "viewer", false],
] as const)("%s with the role %s can cancel a fix of usr_1: %s", (userId, role, can) => {
  expect(whyNotCancel({ requestedBy }, { userId, role }) === undefined).toBe(can);
});

test("a fix can be canceled before its pull request is opened", () => {
  expect(isCancelable({ status: "waiting" })).toBe(true);
  expect(isCancelable({ status: "verifying" })).toBe(true);
  expect(isCancelable({ status: "opening" })).toBe(false);
  expect(isCancelable({ status: "failed" })).toBe(false);
});
