import { expect, test } from "vitest";
import { LogBuffer } from "./buffer";

const encoder = new TextEncoder();

function bufferOf(...chunks: (string | Uint8Array)[]): LogBuffer {
  const buffer = new LogBuffer();
  for (const chunk of chunks) buffer.append(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
  return buffer;
}

const all = (buffer: LogBuffer) => Array.from({ length: buffer.lines }, (_, index) => buffer.line(index));

test("lines that are spread over chunks", () => {
  expect(all(bufferOf("one\ntw", "o\n", "", "thr", "ee\n"))).toEqual(["one", "two", "three"]);
});

test("a line that has not ended yet is shown", () => {
  expect(all(bufferOf("one\ntwo"))).toEqual(["one", "two"]);
  expect(all(bufferOf(""))).toEqual([]);
  expect(all(bufferOf("\n\n"))).toEqual(["", ""]);
});

test("a character that is split between chunks is decoded whole", () => {
  const bytes = encoder.encode("é\n");
  expect(all(bufferOf(bytes.subarray(0, 1), bytes.subarray(1)))).toEqual(["é"]);
});

test("bytes that are no text do not fail", () => {
  expect(all(bufferOf(new Uint8Array([0xff, 0xfe, 10])))).toEqual(["\ufffd\ufffd"]);
});

test("100,000 lines are indexed in a moment", () => {
  const buffer = bufferOf("a line of a log, with some text in it\n".repeat(100_000));
  expect(buffer.lines).toBe(100_000);
  expect(buffer.line(99_999)).toContain("a line");
});
