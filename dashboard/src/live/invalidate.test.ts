import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Invalidator } from "./invalidate";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("a query is refetched at once, and then once per interval", () => {
  const queries = new QueryClient();
  const repeated = vi.spyOn(queries, "invalidateQueries");
  const stale = new Invalidator(queries);
  for (let count = 0; count < 10; count += 1) stale.invalidate(["a"]);
  expect(repeated).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(2_000);
  expect(repeated).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(10_000);
  expect(repeated).toHaveBeenCalledTimes(2);
});

test("entries older than the interval are removed", () => {
  const stale = new Invalidator(new QueryClient());
  for (let session = 0; session < 10_000; session += 1) {
    stale.invalidate(["sessions", session]);
    vi.advanceTimersByTime(10);
  }
  const { lastRun } = stale as unknown as { lastRun: Map<string, number> };
  expect(lastRun.size).toBeLessThanOrEqual(201);
});
