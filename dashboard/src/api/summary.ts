// Counts of what is going on in an organization.
import { queryOptions } from "@tanstack/react-query";
import { api, unwrapData } from "./client";
import { keys } from "./keys";

export const summaryQuery = (org: string) =>
  queryOptions({
    queryKey: keys.summary(org),
    queryFn: ({ signal }) =>
      unwrapData(api.GET("/organizations/{orgId}/summary", { params: { path: { orgId: org } }, signal })),
  });
