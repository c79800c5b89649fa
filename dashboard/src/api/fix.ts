// Fixes of failures: each is proven in an environment, and then proposed as the draft of a pull request.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { Fix } from "./types";

const FIXES = "/organizations/{orgId}/analyses/{analysisId}/fix-pull-requests" as const;
const FIX = "/organizations/{orgId}/fix-pull-requests/{fixId}" as const;
const PAGE = 20;

/** There is no event when a fix gets its environment, or when one of several runs has succeeded. */
const POLL_INTERVAL = 5_000;

const WORKING = ["queued", "waiting", "reproducing", "verifying", "opening"];

/** A pull request that is open, merged or closed has events. */
export function pollInterval(fixes: readonly Pick<Fix, "status">[] | undefined): number | false {
  return fixes?.some(({ status }) => WORKING.includes(status)) ? POLL_INTERVAL : false;
}

/** The fixes of an analysis, newest first. `deployment` is the one that has failed. */
export const fixesQuery = (org: string, deployment: string, analysis: string) =>
  queryOptions({
    queryKey: [...keys.evidence(org, deployment), "fixes", analysis],
    queryFn: async ({ signal }) => {
      const params = { path: { orgId: org, analysisId: analysis }, query: { limit: PAGE } };
      return (await unwrap(api.GET(FIXES, { params, signal }))).data;
    },
    refetchInterval: ({ state }) => pollInterval(state.data),
  });

/** One fix, for a link to it. */
export const fixQuery = (org: string, fix: string) =>
  queryOptions({
    queryKey: [...keys.failures(org), "fix", fix],
    staleTime: 0,
    queryFn: ({ signal }) => unwrapData(api.GET(FIX, { params: { path: { orgId: org, fixId: fix } }, signal })),
  });

export type Change = { commitId: string; branch: string };

export function createFix(org: string, analysis: string, { commitId, branch }: Change) {
  const params = { path: { orgId: org, analysisId: analysis } };
  const body = { source: "commit" as const, commitId, branch };
  return change((headers) => unwrapData(api.POST(FIXES, { params, body, headers })));
}

export function cancelFix(org: string, fix: string) {
  const params = { path: { orgId: org, fixId: fix } };
  return change((headers) => unwrapData(api.POST(`${FIX}/cancel`, { params, headers })));
}
