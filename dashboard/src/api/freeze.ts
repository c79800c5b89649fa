// Freezes: times at which no stage begins in lasting environments.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { Freeze, FreezeChange, NewFreeze } from "./types";

const FREEZES = "/organizations/{orgId}/freezes" as const;
const FREEZE = `${FREEZES}/{freezeId}` as const;
const PAGE = 100;

/** A freeze begins and ends by the clock, and there is no event for that. */
const BY_CLOCK = { refetchInterval: 60_000 } as const;

export const freezesQuery = (org: string, offset = 0) =>
  queryOptions({
    ...BY_CLOCK,
    queryKey: [...keys.freezes(org), "list", offset],
    queryFn: ({ signal }) =>
      unwrap(api.GET(FREEZES, { params: { path: { orgId: org }, query: { limit: PAGE, offset } }, signal })),
  });

/** `etag` makes a change fail if another admin has changed the freeze since. */
export type FreezeRecord = Freeze & { etag: string | undefined };

export const freezeQuery = (org: string, freezeId: string) =>
  queryOptions({
    queryKey: [...keys.freezes(org), "one", freezeId],
    staleTime: 0,
    queryFn: async ({ signal }): Promise<FreezeRecord> => {
      const call = api.GET(FREEZE, { params: { path: { orgId: org, freezeId } }, signal });
      const freeze = await unwrapData(call);
      return { ...freeze, etag: (await call).response.headers.get("ETag") ?? undefined };
    },
  });

export function createFreeze(org: string, body: NewFreeze) {
  const params = { path: { orgId: org } };
  return change((headers) => unwrapData(api.POST(FREEZES, { params, body, headers })));
}

export function updateFreeze(org: string, { id, etag }: FreezeRecord, body: FreezeChange) {
  const path = { orgId: org, freezeId: id };
  return change((headers) => {
    const params = { path, header: { ...headers, "If-Match": etag } };
    return unwrapData(api.PATCH(FREEZE, { params, body, headers }));
  });
}

export function endFreeze(org: string, freezeId: string) {
  const params = { path: { orgId: org, freezeId } };
  return change((headers) => unwrapData(api.DELETE(FREEZE, { params, headers })));
}
