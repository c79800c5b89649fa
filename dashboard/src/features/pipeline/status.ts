// The filter of the list, and how a pipeline's deployments went lately. Pure.
import type { Pipeline } from "@/api/types";
import type { Tone } from "@/ui/tone";

export const STATUSES = ["all", "active", "stopped", "archived"] as const;

export type StatusFilter = (typeof STATUSES)[number];

export function statusOf(text: string | undefined): StatusFilter {
  return STATUSES.find((known) => known === text) ?? "all";
}

type Recent = NonNullable<Pipeline["recentDeployments"]>;

/** Oldest first, as people read. */
export function marksOf(recent: Recent): Recent {
  return recent.toReversed();
}

export function succeededOf(recent: Recent): number {
  return recent.filter(({ status }) => status === "succeeded").length;
}

/** How high a mark stands: what failed is as high as what worked, what came to nothing is low. */
export function heightOf(tone: Tone): "h-4" | "h-2" {
  return tone === "slate" ? "h-2" : "h-4";
}
