import { expect, test } from "vitest";
import { findInPart, firstLineOf, type Index, nextParts, PART, partsOf, partsWith, startsOf, textOf } from "./pages";

const EVERY = 65_536;

/** The index that the server makes of a log. */
function indexOf(bytes: Uint8Array): Index {
  const lineNumbers: number[] = [];
  let line = 1;
  bytes.forEach((byte, position) => {
    if (position % EVERY === 0) lineNumbers.push(line);
    if (byte === 10) line += 1;
  });
  const lines = bytes.at(-1) === 10 ? line - 1 : line;
  return { bytes: bytes.length, lines, every: EVERY, lineNumbers };
}

function logOf(text: string) {
  const bytes = new TextEncoder().encode(text);
  const index = indexOf(bytes);
  const parts = Array.from({ length: partsOf(index) }, (_, number) => {
    const part = bytes.subarray(number * PART, (number + 1) * PART);
    return { bytes: part, starts: startsOf(part) };
  });
  return { index, line: (line: number) => textOf(index, line, (number) => parts[number]) };
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, line) => `line ${line} é ${"x".repeat(line % 90)}`);

test("all lines of a log of several parts, also those that are in two of them", () => {
  const lines = numbered(20_000);
  for (const end of ["", "\n"]) {
    const log = logOf(lines.join("\n") + end);
    expect(partsOf(log.index)).toBeGreaterThan(3);
    expect(log.index.lines).toBe(lines.length);
    expect(lines.map((_, line) => log.line(line))).toEqual(lines);
  }
});

test("a line that fills whole parts is cut, and those around it are whole", () => {
  const log = logOf(`before\n${"y".repeat(3 * PART)}\nafter\n`);
  expect([log.line(0), log.line(2)]).toEqual(["before", "after"]);
  expect(log.line(1)).toHaveLength(65_536);
});

test("a part that ends with a newline", () => {
  const log = logOf(`${"z".repeat(PART - 1)}\nnext\n`);
  expect(firstLineOf(log.index, 1)).toBe(1);
  expect(log.line(1)).toBe("next");
  expect(partsWith(log.index, 1, 1)).toEqual({ first: 0, last: 1 });
});

test("a line of a part that was not read yet is not known", () => {
  const { index } = logOf(numbered(20_000).join("\n"));
  expect(textOf(index, 19_999, () => undefined)).toBeUndefined();
});

test("the parts of the window are read first, then those around it, and no more than fit", () => {
  const { index } = logOf(numbered(20_000).join("\n"));
  const window = { from: firstLineOf(index, 2) + 10, to: firstLineOf(index, 2) + 60 };
  expect(nextParts(index, window, () => false, 4)).toEqual([2, 3, 1, 4]);
  expect(nextParts(index, window, (number) => number === 2, 2)).toEqual([3, 1]);
  expect(nextParts(index, window, () => true, 4)).toEqual([]);
});

test("pieces that contain a text are found once each", () => {
  const bytes = new TextEncoder().encode("Error one error\nfine\né ERROR\n\nlast error");
  const part = { bytes, starts: startsOf(bytes) };
  expect(findInPart(part, "error")).toEqual([0, 2, 4]);
  expect(findInPart(part, "É err")).toEqual([]);
  expect(findInPart(part, "é err")).toEqual([2]);
  expect(findInPart(part, "none")).toEqual([]);
});
