// The timeline of holds: a row per day, a bar per hold, and before it how long its session waited. Pure.
import type { HistoryEntry } from "@/api/types";
import { timeOf } from "@/lib/countdown";

export type Mark = { at: number; status: string };

export type Bar = {
  sessionId: string;
  name: string;
  kind: string;
  status: string;
  context: string | undefined;
  /** When the session was queued, if it waited. */
  waitedFrom: number | undefined;
  from: number;
  to: number;
  isLive: boolean;
  marks: Mark[];
};

/** A part of a bar on one day, as fractions of the day. */
export type Piece = {
  bar: Bar;
  start: number;
  end: number;
  waitedStart: number | undefined;
  marks: { at: number; status: string }[];
};

export type Day = { start: number; pieces: Piece[] };

export function barsOf(entries: readonly HistoryEntry[], now: number): Bar[] {
  return entries.flatMap((entry) => {
    const from = timeOf(entry.claimedAt);
    if (from === undefined) return [];
    const endedAt = timeOf(entry.endedAt);
    const queuedAt = timeOf(entry.queuedAt);
    const marks = entry.deployments.flatMap((deployment) => {
      const at = timeOf(deployment.createdAt);
      return at === undefined ? [] : [{ at, status: deployment.status }];
    });
    return [
      {
        sessionId: entry.sessionId,
        name: entry.claimedBy.name,
        kind: entry.claimedBy.kind,
        status: entry.status,
        context: entry.context ?? undefined,
        waitedFrom: queuedAt !== undefined && queuedAt < from ? queuedAt : undefined,
        from,
        to: endedAt ?? now,
        isLive: endedAt === undefined,
        marks,
      },
    ];
  });
}

/** The start of the day in the reader's time zone, `offset` days later. Days with a clock change have 23 or 25 hours. */
export function dayStart(time: number, offset = 0): number {
  const date = new Date(time);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + offset).getTime();
}

/** The newest day first. Days without a hold are included, so that gaps are seen. */
export function daysOf(bars: readonly Bar[], now: number, count: number): Day[] {
  return Array.from({ length: count }, (_, index) => {
    const start = dayStart(now, -index);
    return { start, pieces: piecesOf(bars, start, dayStart(start, 1)) };
  });
}

function piecesOf(bars: readonly Bar[], start: number, end: number): Piece[] {
  const at = (time: number) => Math.min(1, Math.max(0, (time - start) / (end - start)));
  return bars
    .filter((bar) => (bar.waitedFrom ?? bar.from) < end && bar.to > start)
    .map((bar) => ({
      bar,
      start: at(bar.from),
      end: at(bar.to),
      waitedStart: bar.waitedFrom === undefined ? undefined : at(bar.waitedFrom),
      marks: bar.marks
        .filter((mark) => mark.at >= start && mark.at < end)
        .map((mark) => ({ at: at(mark.at), status: mark.status })),
    }));
}
