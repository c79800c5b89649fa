import { expect, test } from "vitest";
import { reconnectDelay } from "./backoff";

const low = () => 0;
const high = () => 1;

test("a stream that the server closed is opened again at once, but not in a loop", () => {
  expect(reconnectDelay({ kind: "closed" }, 1, high)).toBe(0);
  expect(reconnectDelay({ kind: "closed" }, 2, low)).toBe(500);
});

test("the delay after a failure is random, short while a server restarts, and 30 seconds at most", () => {
  expect(reconnectDelay({ kind: "lost" }, 1, low)).toBe(500);
  expect(reconnectDelay({ kind: "lost" }, 1, high)).toBe(1_000);
  expect(reconnectDelay({ kind: "lost" }, 4, high)).toBe(4_000);
  expect(reconnectDelay({ kind: "lost" }, 20, high)).toBe(4_000);
  expect(reconnectDelay({ kind: "lost" }, 99, high)).toBe(30_000);
});

test("a wait time of the server is honored", () => {
  expect(reconnectDelay({ kind: "refused", status: 503, retryAfter: 7 }, 1, low)).toBe(7_000);
  expect(reconnectDelay({ kind: "refused", status: 429, retryAfter: 3_600 }, 1, low)).toBe(30_000);
});

test.each([401, 403, 404])("after %i there is no reconnection", (status) => {
  expect(reconnectDelay({ kind: "refused", status }, 1, low)).toBeUndefined();
});
