// What happened lately: the time that is shown is the one that the list is sorted by. Pure.
import type { Deployment } from "@/api/types";
import { timeOf } from "@/lib/countdown";

const MAX_ROWS = 10;

type Times = Pick<Deployment, "createdAt" | "startedAt" | "endedAt">;

/** When it ended, else when it started, else when it was created. */
export function lastChangeOf({ createdAt, startedAt, endedAt }: Times): number | undefined {
  return timeOf(endedAt ?? startedAt ?? createdAt);
}

export function latelyOf<Item extends Times>(deployments: readonly Item[]): Item[] {
  return deployments
    .toSorted((left, right) => (lastChangeOf(right) ?? 0) - (lastChangeOf(left) ?? 0))
    .slice(0, MAX_ROWS);
}
