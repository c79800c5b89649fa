import { expect, test } from "vitest";
import { initials, isCommit, newKey, shortCommit, shortId } from "./ids";

test("ids are shortened to their random end", () => {
  expect(shortId("dep_0190a0b0-0000-7000-8000-0000deadbeef")).toBe("dep_…deadbeef");
  expect(shortId("qa-1")).toBe("qa-1");
});

test("commits", () => {
  expect(shortCommit("9f3c2a1b7d4e8f60512a3b4c5d6e7f8091a2b3c4")).toBe("9f3c2a1");
  expect(isCommit("9f3c2a1")).toBe(true);
  expect(isCommit("9f3c2a")).toBe(false);
  expect(isCommit("main")).toBe(false);
});

test.each([
  ["Maya Brandt", "MB"],
  ["storefront-ci", "SC"],
  ["Ada", "AD"],
  ["Ana María de la Cruz", "AC"],
  ["", "?"],
  ["🦀 Ferris", "🦀F"],
])("the initials of %j are %s", (name, expected) => {
  expect(initials(name)).toBe(expected);
});

test("two keys differ", () => {
  expect(newKey()).toMatch(/^[0-9a-f]{32}$/);
  expect(newKey()).not.toBe(newKey());
});
