// Ephemeral environments: the board, one environment, its queue and its history.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Environment as EnvironmentRef } from "@/lib/paths";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { ListedEnvironment, Pagination } from "./types";

export type { EnvironmentRef };

const HISTORY_PAGE = 100;
const MAX_HISTORY_PAGES = 10;

export const pathOf = ({ org, pipeline, env }: EnvironmentRef) => ({ orgId: org, pipelineId: pipeline, envName: env });

export const environmentsQuery = (org: string, pipeline: string) =>
  queryOptions({
    queryKey: keys.environments(org, pipeline),
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, pipelineId: pipeline } };
      return unwrapData(
        api.GET("/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments", { params, signal }),
      );
    },
  });

export type EnvironmentFilter = {
  q?: string;
  label?: string[];
  status?: "free" | "locked";
  holder?: string;
};

export type EnvironmentPage = { data: ListedEnvironment[]; pagination: Pagination };

export const ENVIRONMENTS_PER_PAGE = 100;

/** Environments of all pipelines: filtered and paged by the server. */
export const allEnvironmentsQuery = (org: string, filter: EnvironmentFilter, offset = 0) =>
  queryOptions({
    queryKey: [...keys.allEnvironments(org), filter, offset],
    queryFn: ({ signal }): Promise<EnvironmentPage> => {
      const params = { path: { orgId: org }, query: { ...filter, limit: ENVIRONMENTS_PER_PAGE, offset } };
      return unwrap(api.GET("/organizations/{orgId}/ephemeral-environments", { params, signal }));
    },
  });

export const environmentQuery = (ref: EnvironmentRef) =>
  queryOptions({
    queryKey: keys.environment(ref.org, ref.pipeline, ref.env),
    queryFn: ({ signal }) => {
      const params = { path: pathOf(ref) };
      return unwrapData(
        api.GET("/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}", { params, signal }),
      );
    },
  });

export const queueQuery = (ref: EnvironmentRef) =>
  queryOptions({
    queryKey: keys.queue(ref.org, ref.pipeline, ref.env),
    queryFn: ({ signal }) => {
      const params = { path: pathOf(ref) };
      return unwrapData(
        api.GET("/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/queue", {
          params,
          signal,
        }),
      );
    },
  });

export const historyQuery = (ref: EnvironmentRef) =>
  infiniteQueryOptions({
    queryKey: keys.history(ref.org, ref.pipeline, ref.env),
    initialPageParam: 1,
    maxPages: MAX_HISTORY_PAGES,
    queryFn: ({ signal, pageParam }) => {
      const params = { path: pathOf(ref), query: { page: pageParam, limit: HISTORY_PAGE } };
      return unwrap(
        api.GET("/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/history", {
          params,
          signal,
        }),
      );
    },
    getNextPageParam: ({ pagination }) => (pagination.page < pagination.totalPages ? pagination.page + 1 : undefined),
    getPreviousPageParam: ({ pagination }) => (pagination.page > 1 ? pagination.page - 1 : undefined),
  });

export function repeatCleanup(ref: EnvironmentRef) {
  const params = { path: pathOf(ref) };
  return change((headers) =>
    unwrapData(
      api.POST("/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/cleanup", {
        params,
        headers,
      }),
    ),
  );
}

export function giveUpCleanup(ref: EnvironmentRef, reason: string) {
  const params = { path: pathOf(ref) };
  return change((headers) =>
    unwrapData(
      api.DELETE("/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/cleanup", {
        params,
        body: { reason },
        headers,
      }),
    ),
  );
}
