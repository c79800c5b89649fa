// Colors of terminal output as spans of text. Never HTML: the text of a log is only ever a text node. All
// sequences but colors are removed, and characters that reorder text are made visible.

import { visible } from "@/lib/visible";

export type Style = { color?: string; bold?: boolean; dim?: boolean; italic?: boolean; underline?: boolean };

export type Span = { text: string; style: Style };

export const PLAIN: Style = {};

/** Longer lines are cut, so that one line can't stop the page. */
export const MAX_LINE = 10_000;

const COLORS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

// OSC and other strings that end with BEL or ST, CSI sequences, and other escapes. A sequence that is not
// finished at the end of the line is removed too.
const ESCAPE =
  // oxlint-disable-next-line no-control-regex
  /\u001b(?:[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|\[([0-?]*)([ -/]*[@-~]|$)|[ -/]*[0-~]|$)|\u009b([0-?]*)([ -/]*[@-~]|$)/g;

/** Parses one line that starts with `style`, and returns the style with which the next one starts. */
export function parseLine(line: string, style: Style = PLAIN): { spans: Span[]; style: Style } {
  const text = lastVersion(line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line);
  const spans: Span[] = [];
  let current = style;
  let position = 0;
  const push = (end: number) => {
    if (end > position) spans.push({ text: visible(text.slice(position, end)), style: current });
  };
  for (const match of text.matchAll(ESCAPE)) {
    push(match.index);
    position = match.index + match[0].length;
    if (match[2] === "m" || match[4] === "m") current = applyCodes(current, match[1] ?? match[3] ?? "");
  }
  push(text.length);
  return { spans, style: current };
}

/** A carriage return starts the line anew: what stands after the last one is what a terminal shows. */
function lastVersion(line: string): string {
  const trimmed = line.replace(/\r+$/, "");
  const index = trimmed.lastIndexOf("\r");
  return index < 0 ? trimmed : trimmed.slice(index + 1);
}

function applyCodes(style: Style, parameters: string): Style {
  // `<`, `=`, `>` and `?` begin private sequences, which are no colors.
  if (/[<-?]/.test(parameters)) return style;
  let next: Style = style;
  const codes = parameters.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 38 || code === 48) {
      // Colors of 256 and of 24 bits would not keep the contrast of the theme, so they are left out.
      index += codes[index + 1] === 2 ? 4 : 2;
      continue;
    }
    next = applyCode(next, code);
  }
  return next;
}

function applyCode(style: Style, code: number): Style {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 3) return { ...style, italic: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 22) return { ...style, bold: undefined, dim: undefined };
  if (code === 23) return { ...style, italic: undefined };
  if (code === 24) return { ...style, underline: undefined };
  if (code === 39) return { ...style, color: undefined };
  if (code >= 30 && code <= 37) return { ...style, color: COLORS[code - 30] };
  if (code >= 90 && code <= 97) return { ...style, color: COLORS[code - 90] };
  return style;
}
