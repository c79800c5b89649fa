import { expect, test } from "vitest";
import type { HistoryEntry } from "@/api/types";
import { barsOf, dayStart, daysOf } from "./timeline";

const NOON = new Date(2026, 10, 16, 12).getTime();
const HOUR = 3_600_000;
const iso = (time: number) => new Date(time).toISOString();

function entry(from: number, to: number | undefined, more: object = {}): HistoryEntry {
  const claimedBy = { id: "usr_1", name: "Maya", kind: "user" };
  const times = { queuedAt: iso(from), claimedAt: iso(from), endedAt: to === undefined ? null : iso(to) };
  return {
    sessionId: "ses_1",
    status: "released",
    claimedBy,
    deployments: [],
    ...times,
    ...more,
  } as unknown as HistoryEntry;
}

test("a hold over midnight has a piece on both days", () => {
  const midnight = dayStart(NOON);
  const days = daysOf(barsOf([entry(midnight - 6 * HOUR, midnight + 6 * HOUR)], NOON), NOON, 3);
  expect(days.map(({ pieces }) => pieces.map(({ start, end }) => [start, end]))).toEqual([
    [[0, 0.25]],
    [[0.75, 1]],
    [],
  ]);
});

test("a hold that goes on ends now", () => {
  const [bar] = barsOf([entry(NOON - HOUR, undefined)], NOON);
  expect(bar).toMatchObject({ to: NOON, isLive: true, waitedFrom: undefined });
});

test("the time in the queue is shown before the hold", () => {
  const [bar] = barsOf([entry(NOON - HOUR, NOON, { queuedAt: iso(NOON - 2 * HOUR) })], NOON);
  expect(bar?.waitedFrom).toBe(NOON - 2 * HOUR);
});

test("a session that never held the environment has no bar", () => {
  expect(barsOf([entry(NOON, NOON, { claimedAt: null })], NOON)).toEqual([]);
});

test("deployments are marks on the day on which they were created", () => {
  const deployments = [{ id: "dep_1", status: "failed", createdAt: iso(NOON - HOUR) }];
  const [today] = daysOf(barsOf([entry(NOON - 30 * HOUR, NOON, { deployments })], NOON), NOON, 2);
  expect(today?.pieces[0]?.marks).toHaveLength(1);
});
