// Why stages have failed, what is remembered of failures, and notes about them.
import { queryOptions } from "@tanstack/react-query";
import { serverNow } from "@/lib/clock";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { DeploymentEvidence, FailureVerdict } from "./types";

const DEPLOYMENT = "/organizations/{orgId}/deployments/{deploymentId}" as const;
const FAILURES = "/organizations/{orgId}/failures" as const;
const PAGE = 50;

/** The response has two media types; without an `Accept` header it is JSON. */
type Json = Promise<{ data?: { data: DeploymentEvidence }; error?: unknown; response: Response }>;

/** How many lines are shown at first. */
export const FIRST_LINES = 10;

/** The event `failure.recorded` ends the wait. The poll is for when the stream is interrupted. */
const POLL_INTERVAL = 1_000;
const SLOW_POLL_INTERVAL = 5_000;
const FAST_POLLS = 30;

export function pollInterval(status: string | undefined, reads: number): number | false {
  if (status !== "collecting") return false;
  return reads <= FAST_POLLS ? POLL_INTERVAL : SLOW_POLL_INTERVAL;
}

export const evidenceQuery = (org: string, deployment: string) =>
  queryOptions({
    queryKey: keys.evidence(org, deployment),
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, deploymentId: deployment }, query: { lines: FIRST_LINES } };
      return unwrapData(api.GET(`${DEPLOYMENT}/evidence`, { params, signal }) as Json);
    },
    refetchInterval: ({ state }) => pollInterval(state.data?.status, state.dataUpdateCount),
  });

/** More lines of one step. */
export const stepEvidenceQuery = (org: string, deployment: string, step: string, lines: number) =>
  queryOptions({
    queryKey: [...keys.evidence(org, deployment), step, lines],
    queryFn: async ({ signal }) => {
      const params = { path: { orgId: org, deploymentId: deployment, stepRunId: step }, query: { lines } };
      const call = api.GET(`${DEPLOYMENT}/steps/{stepRunId}/evidence`, { params, signal }) as Json;
      const evidence = await unwrapData(call);
      return evidence.failures[0] ?? null;
    },
  });

/** The evidence as one Markdown text, for a coding agent. */
export async function readBundle(org: string, deployment: string): Promise<string> {
  const params = { path: { orgId: org, deploymentId: deployment } };
  const headers = { Accept: "text/markdown" };
  return unwrap<string>(api.GET(`${DEPLOYMENT}/evidence`, { params, headers, parseAs: "text" }));
}

const HOUR = 3_600_000;

/** The periods of the list, in milliseconds. */
export const PERIODS = { "24h": 24 * HOUR, "7d": 7 * 24 * HOUR, "30d": 30 * 24 * HOUR } as const;

export type Period = keyof typeof PERIODS;

export type FailureFilter = { pipeline?: string; verdict?: FailureVerdict; since?: Period };

export const failuresQuery = (org: string, filter: FailureFilter, offset = 0) =>
  queryOptions({
    queryKey: [...keys.failures(org), "list", filter, offset],
    queryFn: ({ signal }) => {
      const from = filter.since && new Date(serverNow() - PERIODS[filter.since]).toISOString();
      const verdict = filter.verdict && [filter.verdict];
      const query = { pipelineId: filter.pipeline, verdict, from, limit: PAGE, offset };
      return unwrap(api.GET(FAILURES, { params: { path: { orgId: org }, query }, signal }));
    },
  });

export const failureQuery = (org: string, fingerprint: string) =>
  queryOptions({
    queryKey: keys.failure(org, fingerprint),
    queryFn: ({ signal }) =>
      unwrapData(api.GET(`${FAILURES}/{fingerprint}`, { params: { path: { orgId: org, fingerprint } }, signal })),
  });

/** An empty text deletes the note. */
export function writeNote(org: string, fingerprint: string, text: string) {
  const params = { path: { orgId: org, fingerprint } };
  return change((headers) =>
    unwrapData(api.PUT(`${FAILURES}/{fingerprint}/note`, { params, body: { text }, headers })),
  );
}
