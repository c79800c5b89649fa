import { expect, test } from "vitest";
import { LogBuffer } from "./buffer";
import { findLines, isErrorLine, nextOf } from "./find";

const buffer = new LogBuffer();
buffer.append(new TextEncoder().encode("applying\nError: timed out\ndone\nERROR again\n"));
const open = new AbortController().signal;

test("lines that contain a text", async () => {
  expect(await findLines(buffer, "error", open)).toEqual([1, 3]);
  expect(await findLines(buffer, "", open)).toEqual([]);
  expect(await findLines(buffer, "[", open)).toEqual([]);
});

test("next and previous start again at the ends", () => {
  expect(nextOf([1, 3], 1, 1)).toBe(3);
  expect(nextOf([1, 3], 3, 1)).toBe(1);
  expect(nextOf([1, 3], 1, -1)).toBe(3);
  expect(nextOf([], 1, 1)).toBeUndefined();
});

test("errors", () => {
  expect(isErrorLine("error: timed out")).toBe(true);
  expect(isErrorLine("0 errors")).toBe(false);
});
