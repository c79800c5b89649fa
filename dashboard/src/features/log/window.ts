// Which lines are on the screen. Browsers limit the height of an element, so a long log scrolls over a shorter
// range that is mapped to its lines. Pure.

export const ROW = 20;
export const MAX_ROWS = 200;
/** The highest element that all browsers can show is about 17.9 million pixels. */
export const MAX_HEIGHT = 8_000_000;
const OVERSCAN = 20;

export type Window = {
  /** The height of the element that scrolls. */
  height: number;
  first: number;
  count: number;
  /** Where the first row stands in that element. */
  top: number;
};

export function heightOf(lines: number): number {
  return Math.min(MAX_HEIGHT, lines * ROW);
}

export function windowOf(lines: number, scrollTop: number, viewport: number): Window {
  const height = heightOf(lines);
  const visible = Math.ceil(viewport / ROW);
  const first = Math.max(0, firstLine(lines, scrollTop, viewport) - OVERSCAN);
  const count = Math.min(lines - first, visible + 2 * OVERSCAN, MAX_ROWS);
  const isMapped = lines * ROW > MAX_HEIGHT;
  // In a mapped log the rows stand where the reader looks; otherwise each has its own place.
  const shift = (firstLine(lines, scrollTop, viewport) - first) * ROW;
  return { height, first, count: Math.max(0, count), top: isMapped ? Math.max(0, scrollTop - shift) : first * ROW };
}

function firstLine(lines: number, scrollTop: number, viewport: number): number {
  if (lines * ROW <= MAX_HEIGHT) return Math.floor(scrollTop / ROW);
  const range = Math.max(1, MAX_HEIGHT - viewport);
  const last = Math.max(0, lines - Math.floor(viewport / ROW));
  return Math.min(last, Math.round((scrollTop / range) * last));
}

/** Where to scroll so that the line is in the middle. */
export function scrollTopOf(line: number, lines: number, viewport: number): number {
  const wanted = Math.max(0, line - Math.floor(viewport / ROW / 2));
  if (lines * ROW <= MAX_HEIGHT) return wanted * ROW;
  const last = Math.max(1, lines - Math.floor(viewport / ROW));
  return Math.min(1, wanted / last) * (MAX_HEIGHT - viewport);
}

/** Whether the end is on the screen: then new lines are followed. */
export function isAtEnd(scrollTop: number, viewport: number, height: number): boolean {
  return scrollTop + viewport >= height - ROW;
}

const FRAGMENT = /^#L(\d{1,9})(?:-L(\d{1,9}))?$/;

/** `#L10-L20` as lines from 1, in order; `undefined` for anything else. */
export function parseLines(hash: string): { from: number; to: number } | undefined {
  const match = FRAGMENT.exec(hash);
  if (!match?.[1]) return undefined;
  const [from, to] = [Number(match[1]), Number(match[2] ?? match[1])];
  return from < 1 || to < 1 ? undefined : { from: Math.min(from, to), to: Math.max(from, to) };
}
