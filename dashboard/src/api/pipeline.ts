// Pipelines.
import { queryOptions } from "@tanstack/react-query";
import { recordAlias } from "./aliases";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { Pipeline, StopMode } from "./types";

const PAGE = 100;

export type PipelineFilter = { status?: Pipeline["status"]; q?: string };

export const pipelinesQuery = (org: string, filter: PipelineFilter = {}, offset = 0) =>
  queryOptions({
    queryKey: [...keys.pipelines(org), filter, offset],
    queryFn: async ({ signal }) => {
      const params = { path: { orgId: org }, query: { ...filter, limit: PAGE, offset } };
      const list = await unwrap(api.GET("/organizations/{orgId}/pipelines", { params, signal }));
      list.data.forEach(recordAlias);
      return list;
    },
  });

export const pipelineQuery = (org: string, pipeline: string) =>
  queryOptions({
    queryKey: keys.pipeline(org, pipeline),
    queryFn: async ({ signal }) => {
      const params = { path: { orgId: org, pipelineId: pipeline } };
      const record = await unwrapData(api.GET("/organizations/{orgId}/pipelines/{pipelineId}", { params, signal }));
      recordAlias(record);
      return record;
    },
  });

export function stopPipeline(org: string, pipeline: string, body: { mode: StopMode; reason?: string }) {
  const params = { path: { orgId: org, pipelineId: pipeline } };
  return change((headers) =>
    unwrapData(api.POST("/organizations/{orgId}/pipelines/{pipelineId}/stop", { params, body, headers })),
  );
}

export function resumePipeline(org: string, pipeline: string) {
  const params = { path: { orgId: org, pipelineId: pipeline } };
  return change((headers) =>
    unwrapData(api.POST("/organizations/{orgId}/pipelines/{pipelineId}/resume", { params, headers })),
  );
}
