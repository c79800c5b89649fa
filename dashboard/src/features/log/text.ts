// The text of a log, whole in this page or in parts in a worker. The viewer treats both alike.
import type { LogBuffer } from "./buffer";
import { findLines, isErrorLine } from "./find";

export interface LogText {
  readonly lines: number;
  /** The text of a line, from 0; `undefined` while it is being read. */
  line(number: number): string | undefined;
  /** Called with the lines on the screen, so that they and those around them are read. */
  want(first: number, count: number): void;
  /** Calls `onFound` with the numbers of all lines found so far, from 0. */
  find(text: string, signal: AbortSignal, onFound: (lines: readonly number[]) => void): Promise<void>;
  /** The next line after `from` that looks like an error, or the first one at the end. */
  nextError(from: number): Promise<number | undefined>;
}

/** A log that is in this page. */
export class WholeLog implements LogText {
  readonly buffer: LogBuffer;

  constructor(buffer: LogBuffer) {
    this.buffer = buffer;
  }

  get lines(): number {
    return this.buffer.lines;
  }

  line(number: number): string {
    return this.buffer.line(number);
  }

  want(): void {
    // All of it is there.
  }

  async find(text: string, signal: AbortSignal, onFound: (lines: readonly number[]) => void): Promise<void> {
    const found = await findLines(this.buffer, text, signal);
    if (!signal.aborted) onFound(found);
  }

  nextError(from: number): Promise<number | undefined> {
    const { lines } = this.buffer;
    for (let offset = 1; offset <= lines; offset += 1) {
      const line = (from + offset + lines) % lines;
      if (isErrorLine(this.buffer.line(line))) return Promise.resolve(line);
    }
    return Promise.resolve(undefined);
  }
}
