// Groups of members. Definitions name them, and grants raise their role on a pipeline.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { Group } from "./types";

const GROUPS = "/organizations/{orgId}/groups" as const;
const GROUP = `${GROUPS}/{groupId}` as const;
const MEMBERS = `${GROUP}/members` as const;
const MEMBER = `${MEMBERS}/{userId}` as const;
const PAGE = 100;

export const groupsQuery = (org: string, offset = 0) =>
  queryOptions({
    queryKey: [...keys.groups(org), "list", offset],
    queryFn: ({ signal }) =>
      unwrap(api.GET(GROUPS, { params: { path: { orgId: org }, query: { limit: PAGE, offset } }, signal })),
  });

/** `etag` makes a change fail if another admin has changed the group since. */
export type GroupRecord = Group & { etag: string | undefined };

export const groupQuery = (org: string, groupId: string) =>
  queryOptions({
    queryKey: [...keys.groups(org), "one", groupId],
    queryFn: async ({ signal }): Promise<GroupRecord> => {
      const call = api.GET(GROUP, { params: { path: { orgId: org, groupId } }, signal });
      const group = await unwrapData(call);
      return { ...group, etag: (await call).response.headers.get("ETag") ?? undefined };
    },
  });

export const groupMembersQuery = (org: string, groupId: string, offset = 0) =>
  queryOptions({
    queryKey: [...keys.groups(org), "members", groupId, offset],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, groupId }, query: { limit: PAGE, offset } };
      return unwrap(api.GET(MEMBERS, { params, signal }));
    },
  });

export function createGroup(org: string, body: { name: string; description?: string }) {
  const params = { path: { orgId: org } };
  return change((headers) => unwrapData(api.POST(GROUPS, { params, body, headers })));
}

export function updateGroup(
  org: string,
  { id, etag }: GroupRecord,
  body: { name?: string; description?: string | null },
) {
  const path = { orgId: org, groupId: id };
  return change((headers) => {
    const params = { path, header: { ...headers, "If-Match": etag } };
    return unwrapData(api.PATCH(GROUP, { params, body, headers }));
  });
}

export function deleteGroup(org: string, groupId: string) {
  const params = { path: { orgId: org, groupId } };
  return change((headers) => unwrapData(api.DELETE(GROUP, { params, headers })));
}

export function addGroupMember(org: string, groupId: string, userId: string) {
  const params = { path: { orgId: org, groupId, userId } };
  return change((headers) => unwrapData(api.PUT(MEMBER, { params, headers })));
}

export function removeGroupMember(org: string, groupId: string, userId: string) {
  const params = { path: { orgId: org, groupId, userId } };
  return change((headers) => unwrapData(api.DELETE(MEMBER, { params, headers })));
}

/** What the removal of a member, or without `userId` of the group, would end. It changes nothing, and is never cached. */
export const groupEndingsQuery = (org: string, groupId: string, userId?: string) =>
  queryOptions({
    queryKey: [...keys.groups(org), "endings", groupId, userId ?? "all"],
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const query = { dryRun: true };
      const changed = userId
        ? await unwrapData(api.DELETE(MEMBER, { params: { path: { orgId: org, groupId, userId }, query }, signal }))
        : await unwrapData(api.DELETE(GROUP, { params: { path: { orgId: org, groupId }, query }, signal }));
      return changed.ended;
    },
  });
