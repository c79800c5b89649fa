import { expect, test } from "vitest";
import type { Session } from "@/api/types";
import { keptUntil } from "@/lib/stay";
import { queuedMessage } from "./stay";

const NOW = new Date(2026, 10, 16, 14, 20).getTime();
const UNTIL = NOW + 4 * 3_600_000;
const session = (more: object) =>
  ({
    envName: "qa-1",
    status: "queued",
    position: 4,
    claimedBy: { name: "Ada", kind: "user" },
    heartbeatBy: new Date(UNTIL).toISOString(),
    ...more,
  }) as unknown as Session;

test("a person reads until when the place is kept", () => {
  expect(queuedMessage(session({}), NOW)).toEqual({
    title: "You are number 4 in line for qa-1",
    text: "Your place is kept until 18:20, also if you close this page.",
  });
});

test("the place of a program has no end to show", () => {
  expect(keptUntil(session({}))).toBe(UNTIL);
  expect(keptUntil(session({ claimedBy: { name: "Ada", kind: "ci" } }))).toBeUndefined();
  expect(keptUntil(session({ status: "active", heartbeatBy: null }))).toBeUndefined();
  expect(queuedMessage(session({ heartbeatBy: null }), NOW).text).toBeUndefined();
});
