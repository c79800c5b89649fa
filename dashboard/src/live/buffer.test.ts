import { expect, test, vi } from "vitest";
import type { Event } from "@/api/types";
import { EventBuffer } from "./buffer";

const event = (sequence: number) => ({ sequence, type: "session.claimed" }) as Event;

function buffer() {
  const frames: (() => void)[] = [];
  const apply = vi.fn();
  const overflow = vi.fn();
  const events = new EventBuffer(apply, overflow, (run) => frames.push(run));
  return { events, apply, overflow, frames, frame: () => frames.shift()?.() };
}

test("events of one frame are applied together, in their order", () => {
  const { events, apply, frames, frame } = buffer();
  events.push(event(1));
  events.push(event(2));
  expect(frames).toHaveLength(1);
  frame();
  expect(apply).toHaveBeenCalledExactlyOnceWith([event(1), event(2)]);
});

test("an event is applied once; gaps are normal", () => {
  const { events, apply, frame } = buffer();
  for (const sequence of [3, 3, 2, 9]) events.push(event(sequence));
  frame();
  expect(apply).toHaveBeenCalledExactlyOnceWith([event(3), event(9)]);
  expect(events.last).toBe(9);
});

test("after a restart older events are dropped", () => {
  const { events, apply, frame } = buffer();
  events.push(event(1));
  events.restart(5);
  events.push(event(4));
  frame();
  expect(apply).not.toHaveBeenCalled();
});

test("too many events at once are not applied one by one", () => {
  const { events, apply, overflow, frame } = buffer();
  for (let sequence = 1; sequence <= 501; sequence += 1) events.push(event(sequence));
  frame();
  expect(apply).not.toHaveBeenCalled();
  expect(overflow).toHaveBeenCalledOnce();
});
