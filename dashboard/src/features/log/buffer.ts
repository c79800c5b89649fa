// The bytes of a log and where its lines begin. Lines are decoded when they are shown, so that a log costs its
// bytes and eight bytes per line.

const NEWLINE = 10;

export class LogBuffer {
  private readonly chunks: { start: number; bytes: Uint8Array }[] = [];
  /** The position of the first byte of each line. */
  private readonly starts: number[] = [0];
  private readonly decoder = new TextDecoder();
  private size = 0;
  private stored = 0;

  /** How many bytes of the server's log were received. Bytes that are no text can be shorter or longer here. */
  get position(): number {
    return this.stored;
  }

  /** The number of lines. A line that has not ended yet counts, unless it is empty. */
  get lines(): number {
    const last = this.starts.at(-1) ?? 0;
    return last === this.size ? this.starts.length - 1 : this.starts.length;
  }

  /** `position` is the end of these bytes in the server's log, if their number here can differ from it. */
  append(bytes: Uint8Array, position = this.stored + bytes.length): void {
    this.stored = position;
    if (bytes.length === 0) return;
    for (let index = bytes.indexOf(NEWLINE); index >= 0; index = bytes.indexOf(NEWLINE, index + 1)) {
      this.starts.push(this.size + index + 1);
    }
    this.chunks.push({ start: this.size, bytes });
    this.size += bytes.length;
  }

  /** The text of a line, from 0, without its end. */
  line(number: number): string {
    const start = this.starts[number];
    if (start === undefined) return "";
    const next = this.starts[number + 1];
    return this.decoder.decode(this.slice(start, next === undefined ? this.size : next - 1));
  }

  private slice(start: number, end: number): Uint8Array {
    const result = new Uint8Array(Math.max(0, end - start));
    for (let index = this.chunkAt(start); index < this.chunks.length; index += 1) {
      const chunk = this.chunks[index];
      if (!chunk || chunk.start >= end) break;
      const part = chunk.bytes.subarray(Math.max(0, start - chunk.start), end - chunk.start);
      result.set(part, Math.max(0, chunk.start - start));
    }
    return result;
  }

  /** The chunk that contains the position, by binary search. */
  private chunkAt(position: number): number {
    let low = 0;
    let high = this.chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.chunks[middle]?.start ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
