// Analyses of failures: requests for them, with a model and without, what was sent to the model, and feedback about them.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { Analysis } from "./types";

const ANALYSES = "/organizations/{orgId}/deployments/{deploymentId}/analyses" as const;
const PROMPT = "/organizations/{orgId}/analyses/{analysisId}/prompt" as const;
const FEEDBACK = "/organizations/{orgId}/analyses/{analysisId}/feedback" as const;
/** A failure has 20 at most. */
const PAGE = 100;

/** The end of an analysis is an event. The poll is for when the stream is interrupted. */
const POLL_INTERVAL = 5_000;

const LIVE = ["queued", "collecting", "analyzing"];

export function pollInterval(analyses: readonly Pick<Analysis, "status">[] | undefined): number | false {
  return analyses?.some(({ status }) => LIVE.includes(status)) ? POLL_INTERVAL : false;
}

/** Those of all failures of a deployment, newest first. */
export const analysesQuery = (org: string, deployment: string) =>
  queryOptions({
    queryKey: [...keys.evidence(org, deployment), "analyses"],
    queryFn: async ({ signal }) => {
      const params = { path: { orgId: org, deploymentId: deployment }, query: { limit: PAGE } };
      return (await unwrap(api.GET(ANALYSES, { params, signal }))).data;
    },
    refetchInterval: ({ state }) => pollInterval(state.data),
  });

/** Requests an analysis of the last failure of a stage, without a model, because a fix needs no explanation. It has succeeded in
 * the response if the evidence is there. */
export function createAnalysis(org: string, deployment: string, stage: string) {
  const params = { path: { orgId: org, deploymentId: deployment } };
  return change((headers) => unwrapData(api.POST(ANALYSES, { params, body: { stage, model: false }, headers })));
}

/** Requests an explanation of the last failure of a stage by the model of the organization. */
export function requestExplanation(org: string, deployment: string, stage: string) {
  const params = { path: { orgId: org, deploymentId: deployment } };
  return change((headers) => unwrapData(api.POST(ANALYSES, { params, body: { stage, model: true }, headers })));
}

/** What was sent to the model for an analysis. For maintainers only. */
export const promptQuery = (org: string, analysis: string) =>
  queryOptions({
    queryKey: [...keys.failures(org), "prompt", analysis],
    queryFn: ({ signal }) =>
      unwrapData(api.GET(PROMPT, { params: { path: { orgId: org, analysisId: analysis } }, signal })),
  });

export type Feedback = { helpful: boolean; comment?: string };

/** One per person: it replaces what the person has sent before. */
export function giveFeedback(org: string, analysis: string, body: Feedback) {
  const params = { path: { orgId: org, analysisId: analysis } };
  return change((headers) => unwrapData(api.POST(FEEDBACK, { params, body, headers })));
}
