import { expect, test } from "vitest";
import type { EvidenceItem } from "@/api/types";
import { lineOf } from "./cited";

const item = { id: "E2", fromLine: 41, toLine: 43, text: "Traceback\n  at a\nError: no table" } as EvidenceItem;
const decisiveLine = { line: 43, text: "Error: no table" };

test("a part of several lines is cited by its decisive line, else by its first", () => {
  expect(lineOf(item, { decisive: "E2", decisiveLine })).toEqual({ number: 43, text: "Error: no table", others: 2 });
  expect(lineOf(item, { decisive: "E1", decisiveLine })).toEqual({ number: 41, text: "Traceback", others: 2 });
});

test("the reason of a failure without a log has no number", () => {
  const reason = { ...item, fromLine: 0, toLine: 0, text: "no runner came" };
  expect(lineOf(reason, {})).toEqual({ number: undefined, text: "no runner came", others: 0 });
});
