// Finds a text in the lines of a log, in slices, so that the page stays responsive. Pure but for the pauses.
import type { LogBuffer } from "./buffer";

const SLICE = 20_000;
export const MAX_MATCHES = 10_000;

/** The numbers of the lines, from 0, that contain the text; upper and lower case are the same. */
export async function findLines(
  buffer: LogBuffer,
  text: string,
  signal: AbortSignal,
  pause = nextTask,
): Promise<number[]> {
  const wanted = text.toLowerCase();
  const found: number[] = [];
  if (wanted === "") return found;
  for (let line = 0; line < buffer.lines && found.length < MAX_MATCHES; line += 1) {
    if (buffer.line(line).toLowerCase().includes(wanted)) found.push(line);
    if (line % SLICE === SLICE - 1) {
      await pause();
      if (signal.aborted) return found;
    }
  }
  return found;
}

const nextTask = () => new Promise<void>((resolve) => setTimeout(resolve));

const ERROR = /\b(error|fatal|panic(?:ked)?|exception|failed)\b/i;

/** Whether the line looks like an error, for the key that jumps to the next one. */
export function isErrorLine(line: string): boolean {
  return ERROR.test(line);
}

/** The next number after `from`, or the first one at the end. */
export function nextOf(numbers: readonly number[], from: number, step: 1 | -1): number | undefined {
  if (numbers.length === 0) return undefined;
  if (step === 1) return numbers.find((number) => number > from) ?? numbers[0];
  return numbers.findLast((number) => number < from) ?? numbers.at(-1);
}
