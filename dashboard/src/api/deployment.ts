// Deployments, their stages and attempts.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import { repeatUnread } from "./queries";
import type { Deployment } from "./types";

export type DeploymentFilter = { status?: Deployment["status"]; envName?: string; commitId?: string };

const DEPLOYMENT = "/organizations/{orgId}/deployments/{deploymentId}" as const;
const STAGE = `${DEPLOYMENT}/stages/{stageKey}` as const;
const PAGE = 50;

export const deploymentsQuery = (org: string, filter: DeploymentFilter, offset = 0) =>
  queryOptions({
    queryKey: [...keys.deployments(org), filter, offset],
    queryFn: ({ signal }) => {
      const query = { ...filter, status: filter.status && [filter.status], limit: PAGE, offset };
      const params = { path: { orgId: org }, query };
      return unwrap(api.GET("/organizations/{orgId}/deployments", { params, signal }));
    },
  });

export const pipelineDeploymentsQuery = (org: string, pipeline: string, offset = 0) =>
  queryOptions({
    queryKey: [...keys.pipelineDeployments(org, pipeline), offset],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, pipelineId: pipeline }, query: { limit: PAGE, offset } };
      return unwrap(api.GET("/organizations/{orgId}/pipelines/{pipelineId}/deployments", { params, signal }));
    },
  });

/** There is no event when a deployment begins to wait for another hold, freeze or deployment. */
const GATE_INTERVAL = 5_000;

const isAtGate = ({ waitingOn }: Deployment): boolean =>
  waitingOn.some(({ kind }) => kind === "hold" || kind === "freeze" || kind === "work_slot");

export const deploymentQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: keys.deployment(org, id),
    queryFn: ({ signal }) =>
      unwrapData(api.GET(DEPLOYMENT, { params: { path: { orgId: org, deploymentId: id } }, signal })),
    refetchInterval: (query) => (query.state.data && isAtGate(query.state.data) ? GATE_INTERVAL : repeatUnread(query)),
  });

export const attemptsQuery = (org: string, id: string, stage: string) =>
  queryOptions({
    queryKey: keys.attempts(org, id, stage),
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, deploymentId: id, stageKey: stage } };
      return unwrapData(api.GET(`${STAGE}/attempts`, { params, signal }));
    },
  });

/** Starts a deployment of the whole pipeline. */
export function createDeployment(org: string, pipeline: string, body: { commitId: string; branch?: string }) {
  const params = { path: { orgId: org, pipelineId: pipeline } };
  return change((headers) =>
    unwrapData(api.POST("/organizations/{orgId}/pipelines/{pipelineId}/deployments", { params, body, headers })),
  );
}

export function cancelDeployment(org: string, id: string) {
  const params = { path: { orgId: org, deploymentId: id } };
  return change((headers) => unwrapData(api.POST(`${DEPLOYMENT}/cancel`, { params, body: {}, headers })));
}

export function cancelStage(org: string, id: string, stage: string) {
  const params = { path: { orgId: org, deploymentId: id, stageKey: stage } };
  return change((headers) => unwrapData(api.POST(`${STAGE}/cancel`, { params, headers })));
}

/** `allowOlder` makes it a rollback: it may replace what a newer deployment has deployed. */
export function retryStage(org: string, id: string, stage: string, body: { allowOlder?: boolean } = {}) {
  const params = { path: { orgId: org, deploymentId: id, stageKey: stage } };
  return change((headers) => unwrapData(api.POST(`${STAGE}/retry`, { params, body, headers })));
}
