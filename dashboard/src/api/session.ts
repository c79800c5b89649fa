// Sessions: claim, hold, hand over, release.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrapData } from "./client";
import { type EnvironmentRef, pathOf } from "./environment";
import { keys } from "./keys";
import type { ClaimSession } from "./types";

export type SessionRef = EnvironmentRef & { session: string };

const ENVIRONMENT = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}" as const;
const SESSION = `${ENVIRONMENT}/sessions/{sessionId}` as const;

const sessionPath = (ref: SessionRef) => ({ ...pathOf(ref), sessionId: ref.session });

export const sessionQuery = (ref: SessionRef) =>
  queryOptions({
    queryKey: keys.session(ref.org, ref.session),
    queryFn: ({ signal }) => unwrapData(api.GET(SESSION, { params: { path: sessionPath(ref) }, signal })),
  });

/** With `queue`, a session that waits; otherwise one that holds the environment, or a problem. */
export function claimSession(ref: EnvironmentRef, body: ClaimSession) {
  return change((headers) =>
    unwrapData(api.POST(`${ENVIRONMENT}/sessions`, { params: { path: pathOf(ref) }, body, headers })),
  );
}

/** Claims any free environment that has all labels. */
export function claimFromPool(
  org: string,
  pipeline: string,
  body: { labels: string[]; commitId?: string; context?: string; ttlSeconds?: number },
) {
  const params = { path: { orgId: org, pipelineId: pipeline } };
  return change((headers) =>
    unwrapData(
      api.POST("/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/claim", { params, body, headers }),
    ),
  );
}

export function forceClaim(ref: EnvironmentRef, body: { context: string; commitId?: string; ttlSeconds?: number }) {
  return change((headers) =>
    unwrapData(api.POST(`${ENVIRONMENT}/force-claim`, { params: { path: pathOf(ref) }, body, headers })),
  );
}

export function releaseSession(ref: SessionRef) {
  return change((headers) => unwrapData(api.DELETE(SESSION, { params: { path: sessionPath(ref) }, headers })));
}

export function renewSession(ref: SessionRef) {
  return change((headers) => unwrapData(api.POST(`${SESSION}/renew`, { params: { path: sessionPath(ref) }, headers })));
}

/** Keeps the place of a waiting session, or confirms a turn. It is idempotent by itself and needs no key. */
export function heartbeatSession(ref: SessionRef) {
  return unwrapData(api.POST(`${SESSION}/heartbeat`, { params: { path: sessionPath(ref) } }));
}

export function deployCommit(ref: SessionRef, body: { commitId: string; branch?: string }) {
  return change((headers) =>
    unwrapData(api.POST(`${SESSION}/deploy`, { params: { path: sessionPath(ref) }, body, headers })),
  );
}

export function transferSession(ref: SessionRef, userId: string) {
  return change((headers) =>
    unwrapData(api.POST(`${SESSION}/transfer`, { params: { path: sessionPath(ref) }, body: { userId }, headers })),
  );
}

export function requestHandover(ref: SessionRef, body: { context?: string; graceSeconds?: number; commitId?: string }) {
  return change((headers) =>
    unwrapData(api.POST(`${SESSION}/request-handover`, { params: { path: sessionPath(ref) }, body, headers })),
  );
}

export function acceptHandover(ref: SessionRef) {
  return change((headers) =>
    unwrapData(api.POST(`${SESSION}/handover/accept`, { params: { path: sessionPath(ref) }, headers })),
  );
}

export function declineHandover(ref: SessionRef, context?: string) {
  return change((headers) =>
    unwrapData(
      api.POST(`${SESSION}/handover/decline`, { params: { path: sessionPath(ref) }, body: { context }, headers }),
    ),
  );
}

const MY_SESSIONS = 100;

/** The sessions of this person that hold an environment or wait for one, of all pipelines. */
export const mySessionsQuery = (org: string) =>
  queryOptions({
    queryKey: keys.mySessions(org),
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org }, query: { userId: "me", limit: MY_SESSIONS } };
      return unwrapData(api.GET("/organizations/{orgId}/sessions", { params, signal }));
    },
  });
