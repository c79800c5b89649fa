import { expect, test } from "vitest";
import type { EvidenceItem, FailureEvidence } from "@/api/types";
import { nextSize, rowsOf, silenceOf } from "./lines";

const item = (id: string, fromLine: number, text: string, other: Partial<EvidenceItem> = {}): EvidenceItem => ({
  id,
  fromLine,
  toLine: fromLine + text.split("\n").length - 1,
  fromByte: 0,
  toByte: 0,
  new: true,
  repeats: 1,
  text,
  ...other,
});

test("parts are in the order of the log, with their numbers and gaps", () => {
  const rows = rowsOf({
    evidence: [
      item("E1", 12, "Traceback\nValueError: no"),
      item("E2", 3, "warning", { repeats: 80 }),
      item("E3", 4, "x"),
    ],
    decisive: "E1",
    decisiveLine: { line: 13, text: "ValueError: no" },
  });
  expect(rows.map(({ number, isDecisive, like, isAfterGap }) => [number, isDecisive, like, isAfterGap])).toEqual([
    [3, false, 80, false],
    [4, false, undefined, false],
    [12, false, undefined, true],
    [13, true, undefined, false],
  ]);
});

test("a reason is no line of the log, and is decisive", () => {
  const [row] = rowsOf({
    evidence: [item("E1", 0, "no runner of pool default came", { toLine: 0 })],
    decisive: "E1",
    decisiveLine: { line: 0, text: "no runner of pool default came" },
  });
  expect(row).toMatchObject({ number: undefined, isDecisive: true });
});

test("numbers that are not certain are left out", () => {
  const rows = rowsOf({ evidence: [item("E1", 5, "a\nb", { toLine: 90 })], decisive: null, decisiveLine: null });
  expect(rows.map(({ number }) => number)).toEqual([5, undefined]);
});

test("hostile text stays one row, and shows what it hides", () => {
  const [row, ...others] = rowsOf({
    evidence: [item("E1", 1, "<img src=x onerror=alert(1)>\u202egnp.exe\u200b")],
    decisive: "E1",
    decisiveLine: null,
  });
  expect(others).toEqual([]);
  expect(row?.text).toBe("<img src=x onerror=alert(1)>‹202e›gnp.exe‹200b›");
});

test("more lines are offered while some are left out", () => {
  expect(nextSize(10, 5)).toBe(40);
  expect(nextSize(40, 5)).toBe(200);
  expect(nextSize(200, 5)).toBeUndefined();
  expect(nextSize(10, 0)).toBeUndefined();
});

test("silence is shown if it is long, or if the step timed out", () => {
  const failure = (category: string, silentSeconds: number) =>
    ({ category, log: { silentSeconds } }) as unknown as FailureEvidence;
  expect(silenceOf(failure("test", 20))).toBeUndefined();
  expect(silenceOf(failure("test", 300))).toBe(300);
  expect(silenceOf(failure("timeout", 20))).toBe(20);
  expect(silenceOf({ category: "timeout", log: null })).toBeUndefined();
});
