import { expect, test } from "vitest";
import { Problem } from "@/api/problem";
import { fieldProblems, outcomeOf, slugOf } from "./setUpForm";

test.each([
  ["Acme", "acme"],
  ["  Web Shop (EU) ", "web-shop-eu"],
  ["99 Bottles", "bottles"],
  ["Über uns", "ber-uns"],
  ["…", ""],
  [`${"a".repeat(62)} b`, "a".repeat(62)],
])("%o becomes the slug %o", (name, slug) => expect(slugOf(name)).toBe(slug));

test("what is shown after each failure", () => {
  expect(outcomeOf(null)).toBe("open");
  expect(outcomeOf(new TypeError("a bug"))).toBe("open");
  expect(outcomeOf(new Problem(401, { code: "sign_in_failed" }))).toBe("expired");
  expect(outcomeOf(new Problem(409, { code: "already_set_up" }))).toBe("taken");
  expect(outcomeOf(new Problem(422, { code: "invalid_request" }))).toBe("open");
  expect(outcomeOf(new Problem(429, { code: "rate_limited" }))).toBe("open");
  expect(outcomeOf(new Problem(503, { code: "database_unavailable" }))).toBe("open");
});

test("an error is shown at its field, and others beside the form", () => {
  const errors = [{ pointer: "/organizationSlug", detail: "is a reserved word" }];
  expect(fieldProblems(new Problem(422, { errors }))).toEqual({
    organizationSlug: "is a reserved word",
    isShown: true,
  });
  expect(fieldProblems(new Problem(422, { errors: [{ pointer: "/code", detail: "is missing" }] })).isShown).toBe(false);
  expect(fieldProblems(undefined)).toEqual({ isShown: false });
});
