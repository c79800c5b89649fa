// Runners and their pools. They record no events for being seen, so they are read every ten seconds.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrapData } from "./client";
import { keys } from "./keys";
import type { Network } from "./types";

const POLL_INTERVAL = 10_000;

export const runnersQuery = (org: string) =>
  queryOptions({
    queryKey: keys.runners(org),
    refetchInterval: POLL_INTERVAL,
    queryFn: ({ signal }) =>
      unwrapData(api.GET("/organizations/{orgId}/runners", { params: { path: { orgId: org } }, signal })),
  });

export const poolsQuery = (org: string) =>
  queryOptions({
    queryKey: keys.pools(org),
    refetchInterval: POLL_INTERVAL,
    queryFn: ({ signal }) =>
      unwrapData(api.GET("/organizations/{orgId}/runner-pools", { params: { path: { orgId: org } }, signal })),
  });

/** The token is in the first response only: it is missing if the request had to be repeated. */
export function createRunner(org: string, body: { name: string; pool?: string }) {
  const params = { path: { orgId: org } };
  return change((headers) => unwrapData(api.POST("/organizations/{orgId}/runners", { params, body, headers })));
}

export function revokeRunner(org: string, runnerId: string) {
  const params = { path: { orgId: org, runnerId } };
  return change((headers) => unwrapData(api.DELETE("/organizations/{orgId}/runners/{runnerId}", { params, headers })));
}

/** `null` removes a restriction. */
export type PoolChange = { network?: Network; pipelines?: string[] | null; environments?: string[] | null };

export function updateRunnerPool(org: string, pool: string, body: PoolChange) {
  const params = { path: { orgId: org, poolName: pool } };
  return change((headers) =>
    unwrapData(api.PATCH("/organizations/{orgId}/runner-pools/{poolName}", { params, body, headers })),
  );
}
