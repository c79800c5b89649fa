import { expect, test } from "vitest";
import { boundsOf, narrow } from "./clock";

test("one response bounds the offset by its resolution and its duration", () => {
  expect(boundsOf({ date: 10_000, sentAt: 5_000, receivedAt: 5_200 })).toEqual({ low: 4_800, high: 6_000 });
});

test("a second response narrows the bounds", () => {
  const first = narrow(undefined, { date: 10_000, sentAt: 5_000, receivedAt: 5_200 });
  const second = narrow(first, { date: 11_000, sentAt: 5_900, receivedAt: 5_950 });
  expect(second).toEqual({ low: 5_050, high: 6_000 });
});

test("bounds that contradict each other are replaced by the newer ones", () => {
  const first = narrow(undefined, { date: 10_000, sentAt: 5_000, receivedAt: 5_200 });
  const second = narrow(first, { date: 100_000, sentAt: 6_000, receivedAt: 6_100 });
  expect(second).toEqual({ low: 93_900, high: 95_000 });
});
