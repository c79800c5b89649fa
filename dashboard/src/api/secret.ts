// Secrets, their versions and reads. A value is only ever sent: no response contains one.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { Secret, SecretPolicy } from "./types";

const SECRETS = "/organizations/{orgId}/secrets" as const;
const SECRET = `${SECRETS}/{secretId}` as const;
const VERSION = `${SECRET}/versions/{version}` as const;
/** Few, because the last read of each one on the page is read as well. */
const PAGE = 25;
const READS_PAGE = 50;
const VERSIONS_PAGE = 20;
/** The most that the API returns at once. */
const MAX_PAGE = 100;

/** Events of secrets are for admins only; others read again when they return to the page. */
const LIVE = { refetchOnWindowFocus: true } as const;

export const secretsQuery = (org: string, pipelineId: string | undefined, offset: number) =>
  queryOptions({
    ...LIVE,
    queryKey: [...keys.secrets(org), "list", pipelineId, offset],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org }, query: { pipelineId, limit: PAGE, offset } };
      return unwrap(api.GET(SECRETS, { params, signal }));
    },
  });

/** `etag` makes a change fail if somebody else has changed the secret since. */
export type SecretRecord = Secret & { etag: string | undefined };

export const secretQuery = (org: string, secretId: string) =>
  queryOptions({
    ...LIVE,
    queryKey: keys.secret(org, secretId),
    queryFn: async ({ signal }): Promise<SecretRecord> => {
      const call = api.GET(SECRET, { params: { path: { orgId: org, secretId } }, signal });
      const secret = await unwrapData(call);
      return { ...secret, etag: (await call).response.headers.get("ETag") ?? undefined };
    },
  });

export const secretVersionsQuery = (org: string, secretId: string, offset = 0) =>
  queryOptions({
    ...LIVE,
    queryKey: [...keys.secret(org, secretId), "versions", offset],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, secretId }, query: { limit: VERSIONS_PAGE, offset } };
      return unwrap(api.GET(`${SECRET}/versions`, { params, signal }));
    },
  });

/** Reads record no event. */
export const secretReadsQuery = (org: string, secretId: string, offset = 0, limit = READS_PAGE) =>
  queryOptions({
    ...LIVE,
    staleTime: 0,
    queryKey: [...keys.secret(org, secretId), "reads", offset, limit],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, secretId }, query: { limit, offset } };
      return unwrap(api.GET(`${SECRET}/reads`, { params, signal }));
    },
  });

/** What a deployment has read. Below the deployment's own key, so that its events refresh it. */
export const deploymentSecretReadsQuery = (org: string, deploymentId: string) =>
  queryOptions({
    staleTime: 0,
    queryKey: [...keys.deployment(org, deploymentId), "secret-reads"],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, deploymentId }, query: { limit: MAX_PAGE } };
      return unwrap(api.GET("/organizations/{orgId}/deployments/{deploymentId}/secret-reads", { params, signal }));
    },
  });

export type NewSecret = {
  name: string;
  pipelineId?: string;
  environment?: string;
  description?: string;
  policy?: SecretPolicy;
  use?: Secret["use"];
};

/** Returns the secret beside the warnings about names that match nothing yet. */
export function createSecret(org: string, secret: NewSecret, value: string) {
  const params = { path: { orgId: org } };
  const body = { ...secret, value };
  return change((headers) => unwrap(api.POST(SECRETS, { params, body, headers })));
}

/** `null` removes the description, or all rules. */
export type SecretChange = { description?: string | null; policy?: SecretPolicy | null };

export function updateSecret(org: string, { id, etag }: SecretRecord, body: SecretChange) {
  const path = { orgId: org, secretId: id };
  return change((headers) => {
    const params = { path, header: { ...headers, "If-Match": etag } };
    return unwrap(api.PATCH(SECRET, { params, body, headers }));
  });
}

export function deleteSecret(org: string, secretId: string) {
  const params = { path: { orgId: org, secretId } };
  return change((headers) => unwrapData(api.DELETE(SECRET, { params, headers })));
}

/** Returns the new version. */
export function setSecretValue(org: string, secretId: string, value: string, staged: boolean) {
  const params = { path: { orgId: org, secretId } };
  return change((headers) => unwrapData(api.PUT(`${SECRET}/value`, { params, body: { value, staged }, headers })));
}

export function activateSecretVersion(org: string, secretId: string, version: number) {
  const params = { path: { orgId: org, secretId, version } };
  return change((headers) => unwrapData(api.POST(`${VERSION}/activate`, { params, headers })));
}

export function destroySecretVersion(org: string, secretId: string, version: number) {
  const params = { path: { orgId: org, secretId, version } };
  return change((headers) => unwrapData(api.POST(`${VERSION}/destroy`, { params, headers })));
}
