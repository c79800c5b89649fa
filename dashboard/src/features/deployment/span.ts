// How long deployments, stages and steps took, or have run so far. Pure.
import type { Stage } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { exact, took } from "@/texts/en/time";

type Span = { startedAt?: string | null; endedAt?: string | null };

/** Empty if it has not started. */
export function spanText({ startedAt, endedAt }: Span, now: number): string {
  const [start, end] = [timeOf(startedAt), timeOf(endedAt)];
  if (start === undefined) return "";
  return end === undefined ? exact(now - start) : took(end - start);
}

/** A stage keeps the start of its first attempt: after a retry, the newest one began with its first step. */
export function stageSpan({ attempt, steps, startedAt, endedAt }: Pick<Stage, "attempt" | "steps"> & Span): Span {
  if (attempt <= 1) return { startedAt, endedAt };
  const starts = steps.flatMap((step) => step.startedAt ?? []);
  return { startedAt: starts.toSorted()[0], endedAt };
}
