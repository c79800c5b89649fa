import { expect, test } from "vitest";
import { expiriesOf, formOf, mistakesOf, requestOf } from "./form";

test("each kind has its defaults", () => {
  expect(formOf("ci")).toMatchObject({ scopes: ["read", "hold", "deploy", "start"], allowForce: false, expiry: "90" });
  expect(formOf("agent").scopes).toEqual(["read", "hold", "deploy"]);
  expect(formOf("user").scopes).toContain("admin");
});

test("a change of the kind keeps the name and drops scopes that the kind can't have", () => {
  const form = formOf("ci", { ...formOf("user"), name: "x" });
  expect(form.name).toBe("x");
  expect(requestOf({ ...form, scopes: ["read", "admin"] }, 0).scopes).toEqual(["read"]);
});

test("only a token of a person can live for ever", () => {
  expect(expiriesOf("user")).toContain("never");
  expect(expiriesOf("ci")).not.toContain("never");
});

test("a token that lives for ever says so, because it would expire by default", () => {
  expect(requestOf({ ...formOf("user"), expiry: "never" }, 0).expiresAt).toBeNull();
});

test("the expiry is within the limit", () => {
  const expiresAt = requestOf({ ...formOf("ci"), expiry: "366" }, 0).expiresAt ?? "";
  expect(Date.parse(expiresAt)).toBeLessThan(366 * 86_400_000);
});

test("mistakes are found before the request", () => {
  expect(mistakesOf({ ...formOf("ci"), scopes: [], pipelines: [] })).toEqual(["name", "scopes", "pipelines"]);
  expect(mistakesOf({ ...formOf("ci"), name: "ci/storefront" })).toEqual([]);
});

test("a limit of sessions is a whole number, and left out if it is empty", () => {
  const named = { ...formOf("ci"), name: "x" };
  for (const maxSessions of ["0", "1.5", "1001", "many"])
    expect(mistakesOf({ ...named, maxSessions }), maxSessions).toEqual(["maxSessions"]);
  expect(requestOf({ ...named, maxSessions: " 3 " }, 0).maxSessions).toBe(3);
  expect(requestOf(named, 0).maxSessions).toBeUndefined();
});
