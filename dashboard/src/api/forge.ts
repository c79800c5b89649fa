// Connected forges: where pull requests are opened and commits are looked up.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { components } from "./schema.gen";
import type { Forge } from "./types";

const FORGES = "/organizations/{orgId}/forges" as const;
const FORGE = `${FORGES}/{forgeName}` as const;
/** An organization has 50 at most. */
const PAGE = 100;

export type NewForge = components["schemas"]["CreateForge"];
export type ForgeChange = components["schemas"]["UpdateForge"];

export const forgesQuery = (org: string) =>
  queryOptions({
    queryKey: [...keys.forges(org), "list"],
    // A call of a forge records no event.
    refetchOnWindowFocus: true,
    queryFn: ({ signal }) =>
      unwrap(api.GET(FORGES, { params: { path: { orgId: org }, query: { limit: PAGE } }, signal })),
  });

/** `etag` makes a change fail if another admin has changed the forge since. */
export type ForgeRecord = Forge & { etag: string | undefined };

export const forgeQuery = (org: string, forgeName: string) =>
  queryOptions({
    queryKey: [...keys.forges(org), "one", forgeName],
    staleTime: 0,
    queryFn: async ({ signal }): Promise<ForgeRecord> => {
      const call = api.GET(FORGE, { params: { path: { orgId: org, forgeName } }, signal });
      const forge = await unwrapData(call);
      return { ...forge, etag: (await call).response.headers.get("ETag") ?? undefined };
    },
  });

export function createForge(org: string, body: NewForge) {
  const params = { path: { orgId: org } };
  return change((headers) => unwrapData(api.POST(FORGES, { params, body, headers })));
}

export function updateForge(org: string, { name, etag }: ForgeRecord, body: ForgeChange) {
  const path = { orgId: org, forgeName: name };
  return change((headers) => {
    const params = { path, header: { ...headers, "If-Match": etag } };
    return unwrapData(api.PATCH(FORGE, { params, body, headers }));
  });
}

export function deleteForge(org: string, forgeName: string) {
  const params = { path: { orgId: org, forgeName } };
  return change((headers) => unwrapData(api.DELETE(FORGE, { params, headers })));
}
