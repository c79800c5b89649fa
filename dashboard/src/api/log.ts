// Logs of steps: where their lines are, and the lines that contain a text.
import { api, unwrapData } from "./client";
import type { LogIndex, LogMatches } from "./types";

export type LogRef = { org: string; deployment: string; step: string };

const LOGS = "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs" as const;

const pathOf = ({ org, deployment, step }: LogRef) => ({ orgId: org, deploymentId: deployment, stepRunId: step });

export function readLogIndex(ref: LogRef, signal: AbortSignal): Promise<LogIndex> {
  return unwrapData(api.GET(`${LOGS}/index`, { params: { path: pathOf(ref) }, signal }));
}

/** Upper and lower case are the same. `after` is the position at which the search begins. */
export function searchLog(
  ref: LogRef,
  query: { q: string; after: number; limit: number },
  signal: AbortSignal,
): Promise<LogMatches> {
  return unwrapData(api.GET(`${LOGS}/search`, { params: { path: pathOf(ref), query }, signal }));
}
