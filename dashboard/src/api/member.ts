// Members of the organization.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { Role } from "./types";

const PAGE = 100;
const MEMBER = "/organizations/{orgId}/members/{userId}" as const;

export const membersQuery = (org: string, offset = 0) =>
  queryOptions({
    queryKey: [...keys.members(org), offset],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org }, query: { limit: PAGE, offset } };
      return unwrap(api.GET("/organizations/{orgId}/members", { params, signal }));
    },
  });

export type NewMember = { name: string; email: string; role: Role };

export function addMember(org: string, body: NewMember) {
  const params = { path: { orgId: org } };
  return change((headers) => unwrapData(api.POST("/organizations/{orgId}/members", { params, body, headers })));
}

export function updateMember(org: string, userId: string, body: { role: Role }) {
  const params = { path: { orgId: org, userId } };
  return change((headers) => unwrapData(api.PATCH(MEMBER, { params, body, headers })));
}

export function removeMember(org: string, userId: string) {
  const params = { path: { orgId: org, userId } };
  return change((headers) => unwrapData(api.DELETE(MEMBER, { params, headers })));
}

/** What another role, or without `role` the removal, would end. It changes nothing, and is never cached. */
export const endingsQuery = (org: string, userId: string, role?: Role) =>
  queryOptions({
    queryKey: [...keys.members(org), userId, "endings", role ?? "removed"],
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const params = { path: { orgId: org, userId }, query: { dryRun: true } };
      const changed = role
        ? await unwrapData(api.PATCH(MEMBER, { params, body: { role }, signal }))
        : await unwrapData(api.DELETE(MEMBER, { params, signal }));
      return changed.ended;
    },
  });

/** The link is in the first response only: it is missing if the request had to be repeated. */
export function createSignInLink(org: string, userId: string) {
  const params = { path: { orgId: org, userId } };
  return change((headers) => unwrapData(api.POST(`${MEMBER}/sign-in-link`, { params, headers })));
}
