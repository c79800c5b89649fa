import { expect, test } from "vitest";
import { phaseOf, pollDelay } from "./sync";

const NOW = Date.parse("2026-11-17T12:00:00Z");
const at = (seconds: number) => ({
  status: "active" as const,
  nextSyncAt: new Date(NOW + seconds * 1_000).toISOString(),
});

test("a registry is being synchronized from when it is due until the next time is ahead again", () => {
  expect(phaseOf(at(900), NOW)).toBe("idle");
  expect(phaseOf(at(0), NOW)).toBe("running");
  expect(phaseOf(at(-90), NOW)).toBe("running");
});

test("a request right after a synchronization is delayed", () => {
  expect(phaseOf(at(2), NOW)).toBe("soon");
});

test("a registry that nobody reads is not shown as running for ever", () => {
  expect(phaseOf(at(-601), NOW)).toBe("stuck");
});

test("disabled and deleted registries are not synchronized", () => {
  expect(phaseOf({ ...at(-1), status: "disabled" }, NOW)).toBe("idle");
  expect(phaseOf({ ...at(-1), deletedAt: "2026-11-17T11:00:00Z" }, NOW)).toBe("idle");
});

test("registries are read again fast while one is being synchronized, else when one is due", () => {
  expect(pollDelay([at(900), at(-3)], NOW)).toBe(1_500);
  expect(pollDelay([at(900), at(20)], NOW)).toBe(20_000);
  expect(pollDelay([at(900)], NOW)).toBe(60_000);
  expect(pollDelay([at(-4_000), { ...at(-1), status: "disabled" }], NOW)).toBe(60_000);
  expect(pollDelay([], NOW)).toBe(60_000);
});
