// Analyses of failures: requests for them, and feedback about them.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";

const ANALYSES = "/organizations/{orgId}/deployments/{deploymentId}/analyses" as const;
const FEEDBACK = "/organizations/{orgId}/analyses/{analysisId}/feedback" as const;
/** A failure has 20 at most. */
const PAGE = 100;

/** Those of all failures of a deployment, newest first. */
export const analysesQuery = (org: string, deployment: string) =>
  queryOptions({
    queryKey: [...keys.evidence(org, deployment), "analyses"],
    queryFn: async ({ signal }) => {
      const params = { path: { orgId: org, deploymentId: deployment }, query: { limit: PAGE } };
      return (await unwrap(api.GET(ANALYSES, { params, signal }))).data;
    },
  });

/** Requests an analysis of the last failure of a stage, without a model, because a fix needs no explanation. It has succeeded in
 * the response if the evidence is there. */
export function createAnalysis(org: string, deployment: string, stage: string) {
  const params = { path: { orgId: org, deploymentId: deployment } };
  return change((headers) => unwrapData(api.POST(ANALYSES, { params, body: { stage, model: false }, headers })));
}

export type Feedback = { helpful: boolean; comment?: string };

/** One per person: it replaces what the person has sent before. */
export function giveFeedback(org: string, analysis: string, body: Feedback) {
  const params = { path: { orgId: org, analysisId: analysis } };
  return change((headers) => unwrapData(api.POST(FEEDBACK, { params, body, headers })));
}
