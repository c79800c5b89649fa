import { expect, test } from "vitest";
import type { Notice } from "@/api/types";
import { readUntil, sentenceOf } from "./happened";

const june = { id: "usr_2", name: "June" };
const sentence = (kind: string, more: Partial<Notice> = {}) =>
  sentenceOf({ kind: kind as Notice["kind"], envName: "qa-1", ...more });

test("a session that was taken over names who did it, and the reason if one was given", () => {
  expect(sentence("overridden", { by: june, context: "the shop is down" })).toBe(
    "June took over qa-1: “the shop is down”",
  );
  expect(sentence("overridden", { by: june, context: null })).toBe("June took over qa-1.");
});

test("a place and a turn that ended with time name nobody", () => {
  expect(sentence("place_lost", { by: null })).toMatch(/^You lost your place in line for qa-1\./);
  expect(sentence("turn_missed", { by: null })).toMatch(/^You missed your turn in qa-1\./);
});

test("a place that somebody ended names them", () => {
  expect(sentence("place_lost", { by: june })).toBe("June ended your place in line for qa-1.");
});

test("a kind of a newer server has a sentence too", () => {
  expect(sentence("moved", { by: june })).toBe("Your session in qa-1 was ended.");
});

test("what was shown is marked, with all digits of the newest time", () => {
  const notices = [{ at: "2026-11-16T12:00:00.123456Z" }, { at: "2026-11-16T11:00:00Z" }];
  expect(readUntil(notices)).toBe("2026-11-16T12:00:00.123456Z");
  expect(readUntil([])).toBeUndefined();
});
