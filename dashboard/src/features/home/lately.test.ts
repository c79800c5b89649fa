import { expect, test } from "vitest";
import { lastChangeOf, latelyOf } from "./lately";

const at = (minute: number) => new Date(minute * 60_000).toISOString();

test("the newest change stands first, whichever time it has", () => {
  const waits = { id: "waits", createdAt: at(50) };
  const ended = { id: "ended", createdAt: at(10), startedAt: at(11), endedAt: at(55) };
  const runs = { id: "runs", createdAt: at(40), startedAt: at(45) };
  const lately = latelyOf([waits, runs, ended]);
  expect(lately.map(({ id }) => id)).toEqual(["ended", "waits", "runs"]);
  const times = lately.map((deployment) => lastChangeOf(deployment) ?? 0);
  expect(times).toEqual(times.toSorted((left, right) => right - left));
});

test("ten of them are shown", () => {
  expect(latelyOf(Array.from({ length: 50 }, (_, minute) => ({ createdAt: at(minute) })))).toHaveLength(10);
});
