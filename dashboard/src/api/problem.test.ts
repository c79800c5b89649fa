import { expect, test } from "vitest";
import { isUncertain, networkProblem, problemOf } from "./problem";

test.each([
  [409, "environment_locked", "locked"],
  [409, "held_by_you", "yours"],
  [409, "session_overridden", "ended"],
  [412, "precondition_failed", "stale"],
  [503, "database_unavailable", "uncertain"],
  [401, "unauthenticated", "unauthenticated"],
  [409, "a_code_of_a_later_version", "conflict"],
  [500, "internal", "unexpected"],
])("%i %s is %s", (status, code, kind) => {
  expect(problemOf(status, { code, detail: "…" }, null).kind).toBe(kind);
});

test("a response that is no problem document still becomes a problem", () => {
  const problem = problemOf(502, "<html>bad gateway</html>", null);
  expect(problem).toMatchObject({ code: "http_502", kind: "unexpected", message: "status 502" });
  expect(isUncertain(problem)).toBe(true);
});

test("a failed connection is uncertain", () => {
  const problem = networkProblem(new TypeError("Failed to fetch"));
  expect(problem).toMatchObject({ kind: "offline", code: "network" });
  expect(isUncertain(problem)).toBe(true);
});

test("a suggested request to another origin is left out", () => {
  const request = (href: string) => ({ action: "queue", method: "POST", href });
  const actions = [
    request("/api/v1/organizations/acme/x"),
    request("https://evil.example/api/v1/x"),
    request("//evil.example/api/v1/"),
    request("/api/v1/../../evil"),
    null,
  ];
  expect(problemOf(409, { code: "environment_locked", actions }, null).actions).toEqual([actions[0]]);
});

test("a wait time and the problem of a field", () => {
  const problem = problemOf(
    422,
    { code: "invalid_request", errors: [{ pointer: "/commitId", detail: "too short" }] },
    "3",
  );
  expect(problem.retryAfter).toBe(3);
  expect(problem.field("/commitId")).toBe("too short");
  expect(problem.field("/context")).toBeUndefined();
});
