// Grants: roles of groups and users on single pipelines.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";

const GRANTS = "/organizations/{orgId}/pipelines/{pipelineId}/grants" as const;
const OF_GROUP = `${GRANTS}/groups/{groupId}` as const;
const OF_USER = `${GRANTS}/users/{userId}` as const;
const PAGE = 100;

export type GrantedRole = "developer" | "maintainer";
export type Grantee = { kind: "group" | "user"; id: string };

export const grantsQuery = (org: string, pipeline: string, offset = 0) =>
  queryOptions({
    queryKey: [...keys.grants(org), pipeline, offset],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, pipelineId: pipeline }, query: { limit: PAGE, offset } };
      return unwrap(api.GET(GRANTS, { params, signal }));
    },
  });

export function setGrant(org: string, pipeline: string, { kind, id }: Grantee, role: GrantedRole) {
  const path = { orgId: org, pipelineId: pipeline };
  const body = { role };
  return change((headers) =>
    kind === "group"
      ? unwrapData(api.PUT(OF_GROUP, { params: { path: { ...path, groupId: id } }, body, headers }))
      : unwrapData(api.PUT(OF_USER, { params: { path: { ...path, userId: id } }, body, headers })),
  );
}

function remove(org: string, pipeline: string, { kind, id }: Grantee, more: { dryRun?: boolean } = {}) {
  const path = { orgId: org, pipelineId: pipeline };
  return (headers?: { "Idempotency-Key": string }) =>
    kind === "group"
      ? unwrapData(api.DELETE(OF_GROUP, { params: { path: { ...path, groupId: id }, query: more }, headers }))
      : unwrapData(api.DELETE(OF_USER, { params: { path: { ...path, userId: id }, query: more }, headers }));
}

export function deleteGrant(org: string, pipeline: string, grantee: Grantee) {
  return change(remove(org, pipeline, grantee));
}

/** What the removal of the grant would end. It changes nothing, and is never cached. */
export const grantEndingsQuery = (org: string, pipeline: string, grantee: Grantee) =>
  queryOptions({
    queryKey: [...keys.grants(org), pipeline, "endings", grantee.id],
    staleTime: 0,
    gcTime: 0,
    queryFn: async () => (await remove(org, pipeline, grantee, { dryRun: true })()).ended,
  });
