// Who is signed in, with which role.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrapData } from "./client";
import { keys } from "./keys";

export const meQuery = (org: string) =>
  queryOptions({
    queryKey: keys.me(org),
    queryFn: ({ signal }) =>
      unwrapData(api.GET("/organizations/{orgId}/me", { params: { path: { orgId: org } }, signal })),
  });

export const organizationQuery = (org: string) =>
  queryOptions({
    queryKey: keys.record(org),
    queryFn: ({ signal }) =>
      unwrapData(api.GET("/organizations/{orgId}", { params: { path: { orgId: org } }, signal })),
  });

/** Who is signed in, before an organization is chosen. */
export const startQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => unwrapData(api.GET("/me", { signal })),
});

export function updateOrganization(org: string, body: { name: string }) {
  const params = { path: { orgId: org } };
  return change((headers) => unwrapData(api.PATCH("/organizations/{orgId}", { params, body, headers })));
}
