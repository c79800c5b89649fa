import { expect, test } from "vitest";
import { Problem } from "./problem";
import { repeatUnread, shouldRetry } from "./queries";

const problem = (status: number, code: string) => new Problem(status, { code });
const intervalAfter = (error: unknown) => repeatUnread({ state: { error } });

test("a read is repeated until the server and its database respond", () => {
  for (const error of [problem(503, "database_unavailable"), new Problem(0, {}), problem(502, "http_502")])
    expect(intervalAfter(error)).toBeGreaterThan(0);
});

test("a refused read is not repeated, nor one that has succeeded", () => {
  expect(intervalAfter(problem(403, "forbidden"))).toBe(false);
  expect(intervalAfter(problem(404, "not_found"))).toBe(false);
  expect(intervalAfter(null)).toBe(false);
});

test("a server whose wait for its database has timed out gets no retry before the error is shown", () => {
  expect(shouldRetry(0, problem(503, "database_unavailable"))).toBe(false);
  expect(shouldRetry(0, new Problem(0, {}))).toBe(true);
  expect(shouldRetry(2, new Problem(0, {}))).toBe(false);
});
