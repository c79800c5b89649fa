// The address of the board of all pipelines as a filter of the server, and the counts of its filters. Pure.
import type { EnvironmentFilter } from "@/api/environment";
import type { Summary } from "@/api/types";

export type AllGroup = "all" | "free" | "yours" | "taken";

export const ALL_GROUPS: readonly AllGroup[] = ["all", "free", "yours", "taken"];

export function groupOfState(state: string | undefined): AllGroup {
  return ALL_GROUPS.find((group) => group === state) ?? "all";
}

export function filterOf(search: { q?: string; state?: string; label?: string }): EnvironmentFilter {
  const group = groupOfState(search.state);
  const q = search.q?.trim();
  return {
    ...(q ? { q } : {}),
    ...(search.label ? { label: search.label.split(",") } : {}),
    ...(group === "free" ? { status: "free" } : {}),
    ...(group === "taken" ? { status: "locked" } : {}),
    ...(group === "yours" ? { holder: "me" } : {}),
  };
}

export function offsetOf(text: string | undefined): number {
  return Math.max(0, Math.trunc(Number(text ?? 0)) || 0);
}

export type Counts = Record<AllGroup | "inLine", number>;

/** The server can't leave out your own, so that those that are taken include them. */
export function countsOf(summary: Summary | undefined): Counts | undefined {
  if (!summary) return undefined;
  const { total, free } = summary.environments;
  return { all: total, free, yours: summary.yours.held, taken: total - free, inLine: summary.queuedSessions };
}

/** All labels of these environments, each once, and the chosen one even if none has it. */
export function labelsOf(environments: readonly { labels: readonly string[] }[], chosen: string | undefined): string[] {
  const labels = new Set(environments.flatMap((environment) => environment.labels));
  if (chosen) labels.add(chosen);
  return [...labels].toSorted();
}
