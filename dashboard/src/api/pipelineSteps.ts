// The steps of registries that a pipeline has locked.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrapData } from "./client";
import { keys } from "./keys";

const UPDATE = "/organizations/{orgId}/pipelines/{pipelineId}/update-steps" as const;

/** What an update would change. It changes nothing on the server. */
export const stepUpdateQuery = (org: string, pipeline: string) =>
  queryOptions({
    queryKey: [...keys.stepUsage(org), "update", pipeline],
    staleTime: 0,
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, pipelineId: pipeline }, query: { dryRun: true } };
      return unwrapData(api.POST(UPDATE, { params, signal }));
    },
  });

/** Saves a version of the definition with the versions of its steps that its references mean now. */
export function updateSteps(org: string, pipeline: string) {
  const params = { path: { orgId: org, pipelineId: pipeline } };
  return change((headers) => unwrapData(api.POST(UPDATE, { params, headers })));
}
