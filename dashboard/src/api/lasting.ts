// Lasting environments: what is live, who holds them, and which deployments have worked there.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { LastingRef } from "@/lib/paths";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";

export type { LastingRef };

const ENVIRONMENT = "/organizations/{orgId}/pipelines/{pipelineId}/environments/{environmentName}" as const;
const PAGE = 100;
const HISTORY_PAGE = 25;
const MAX_HISTORY_PAGES = 10;

/** Holds and freezes also begin and end by the clock, and there is no event for that. */
const BY_CLOCK = { refetchInterval: 60_000 } as const;

const pathOf = ({ org, pipeline, name }: LastingRef) => ({
  orgId: org,
  pipelineId: pipeline,
  environmentName: name,
});

export type LastingFilter = { pipelineId?: string; commitId?: string };

/** Lasting environments of all pipelines: filtered and paged by the server. */
export const allLastingQuery = (org: string, filter: LastingFilter, offset = 0) =>
  queryOptions({
    ...BY_CLOCK,
    queryKey: [...keys.lasting(org), "list", filter, offset],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org }, query: { ...filter, limit: PAGE, offset } };
      return unwrap(api.GET("/organizations/{orgId}/environments", { params, signal }));
    },
  });

/** The lasting environments of one pipeline, in the order of its definition. */
export const lastingOfPipelineQuery = (org: string, pipeline: string) =>
  queryOptions({
    queryKey: [...keys.lasting(org), "of", pipeline],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, pipelineId: pipeline }, query: { limit: PAGE } };
      return unwrapData(api.GET("/organizations/{orgId}/pipelines/{pipelineId}/environments", { params, signal }));
    },
  });

export const lastingQuery = (ref: LastingRef) =>
  queryOptions({
    ...BY_CLOCK,
    queryKey: [...keys.lasting(ref.org), "one", ref.pipeline, ref.name],
    queryFn: ({ signal }) => unwrapData(api.GET(ENVIRONMENT, { params: { path: pathOf(ref) }, signal })),
  });

/** Newest first. */
export const lastingHistoryQuery = (ref: LastingRef) =>
  infiniteQueryOptions({
    queryKey: [...keys.lasting(ref.org), "history", ref.pipeline, ref.name],
    initialPageParam: 0,
    maxPages: MAX_HISTORY_PAGES,
    queryFn: ({ signal, pageParam }) => {
      const params = { path: pathOf(ref), query: { limit: HISTORY_PAGE, offset: pageParam } };
      return unwrap(api.GET(`${ENVIRONMENT}/history`, { params, signal }));
    },
    getNextPageParam: ({ pagination: { offset, limit, total } }) =>
      offset + limit < total ? offset + limit : undefined,
    getPreviousPageParam: ({ pagination: { offset, limit } }) => (offset > 0 ? Math.max(0, offset - limit) : undefined),
  });

export function holdEnvironment(ref: LastingRef, body: { reason: string; until: string }) {
  const params = { path: pathOf(ref) };
  return change((headers) => unwrapData(api.POST(`${ENVIRONMENT}/hold`, { params, body, headers })));
}

export function endHold(ref: LastingRef) {
  const params = { path: pathOf(ref) };
  return change((headers) => unwrapData(api.DELETE(`${ENVIRONMENT}/hold`, { params, headers })));
}
