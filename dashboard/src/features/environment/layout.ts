// How a board is laid out: as cards or as rows, and in how many columns. Pure.
import type { BoardView } from "@/lib/preferences";

/** More environments than this are shown as rows, unless the person has chosen cards. */
export const MAX_CARDS = 60;
export const CARD_WIDTH = 300;
export const CARD_HEIGHT = 219;
export const CARD_GAP = 12;

/** Below this width, cards stand in one column. */
const PHONE_WIDTH = 660;

export function looksOf(view: BoardView, count: number): "cards" | "rows" {
  if (view !== "auto") return view;
  return count > MAX_CARDS ? "rows" : "cards";
}

export function columnsOf(width: number): number {
  if (width < PHONE_WIDTH) return 1;
  return Math.max(1, Math.floor((width + CARD_GAP) / (CARD_WIDTH + CARD_GAP)));
}

/** The environments in lines of a grid. */
export function linesOf<Item>(items: readonly Item[], columns: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / columns) }, (_, line) =>
    items.slice(line * columns, (line + 1) * columns),
  );
}
