// The lines of a log that is read in parts: which parts have a line, and the pieces of lines in a part. Pure.
//
// The index of the server has, for every `every` bytes, the number of the line that contains that byte. A part is
// `PART` bytes, which is a multiple of it. A line can begin in one part and end in another, so that its text is
// all of its pieces in a row.

export const PART = 262_144;
const NEWLINE = 10;

export type Index = { bytes: number; lines: number; every: number; lineNumbers: readonly number[] };

/** Bytes, and where each piece of a line begins in them. The first piece begins at 0. */
export type Part = { bytes: Uint8Array; starts: Uint32Array };

export function partsOf({ bytes }: Index): number {
  return Math.ceil(bytes / PART);
}

/** The line, from 0, that contains the first byte of the part. */
export function firstLineOf({ every, lineNumbers }: Index, part: number): number {
  return (lineNumbers[(part * PART) / every] ?? 1) - 1;
}

/** The parts that contain lines from `from` to `to`, from 0 and both included. */
export function partsWith(index: Index, from: number, to: number): { first: number; last: number } {
  const before = lastPart(index, (line) => line < from);
  return {
    first: Math.max(0, before),
    last: Math.max(
      0,
      lastPart(index, (line) => line <= to),
    ),
  };
}

/** The last part whose first line fulfils the condition, by binary search; -1 if there is none. */
function lastPart(index: Index, holds: (line: number) => boolean): number {
  let low = -1;
  let high = partsOf(index) - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (holds(firstLineOf(index, middle))) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function startsOf(bytes: Uint8Array): Uint32Array {
  const starts = [0];
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, end + 1)) starts.push(end + 1);
  return Uint32Array.from(starts);
}

/** The piece of a part, without the newline at its end; `undefined` if the part has no such piece. */
function pieceOf({ bytes, starts }: Part, number: number): Uint8Array | undefined {
  const start = starts[number];
  if (start === undefined) return undefined;
  const next = starts[number + 1];
  return bytes.subarray(start, next === undefined ? bytes.length : next - 1);
}

/** Longer lines are cut when they are shown, so that no more of them is put together. */
const MAX_BYTES = 65_536;

/** The text of a line, from 0; `undefined` if one of its parts was not read yet. */
export function textOf(index: Index, line: number, part: (number: number) => Part | undefined): string | undefined {
  const { first, last } = partsWith(index, line, line);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let number = first; number <= last && size < MAX_BYTES; number += 1) {
    const found = part(number);
    if (!found) return undefined;
    const piece = pieceOf(found, line - firstLineOf(index, number));
    if (!piece) continue;
    pieces.push(piece);
    size += piece.length;
  }
  return new TextDecoder().decode(joined(pieces, Math.min(size, MAX_BYTES)));
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = pieces;
  if (pieces.length === 1 && only) return only.subarray(0, size);
  const result = new Uint8Array(size);
  let position = 0;
  for (const piece of pieces) {
    if (position >= size) break;
    result.set(piece.subarray(0, size - position), position);
    position += piece.length;
  }
  return result;
}

/** The parts that are missing, those of the window first, then those nearest to it: `count` at most. */
export function nextParts(
  index: Index,
  window: { from: number; to: number },
  isKnown: (number: number) => boolean,
  count: number,
): number[] {
  const total = partsOf(index);
  const { first, last } = partsWith(index, window.from, window.to);
  const found: number[] = [];
  const add = (number: number) => {
    if (number >= 0 && number < total && found.length < count && !isKnown(number)) found.push(number);
  };
  for (let number = first; number <= last; number += 1) add(number);
  for (let distance = 1; distance < total && found.length < count; distance += 1) {
    add(last + distance);
    add(first - distance);
  }
  return found;
}

// One character per byte, so that a position in the text is one in the bytes. Both texts are read like this.
const BYTES_AS_TEXT = new TextDecoder("windows-1252");

function asText(bytes: Uint8Array): string {
  return BYTES_AS_TEXT.decode(bytes).toLowerCase();
}

/** The pieces of a part that contain the text; upper and lower case are the same. */
export function findInPart({ bytes, starts }: Part, text: string): number[] {
  const wanted = asText(new TextEncoder().encode(text));
  const all = asText(bytes);
  const found: number[] = [];
  let piece = 0;
  for (let at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, starts[piece + 1] ?? all.length)) {
    while ((starts[piece + 1] ?? all.length) <= at) piece += 1;
    found.push(piece);
    if (starts[piece + 1] === undefined) break;
  }
  return found;
}
