// Service accounts: users for programs, with their tokens and trust policies.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { NewToken } from "./token";
import type { Role, ServiceAccount } from "./types";

const ACCOUNTS = "/organizations/{orgId}/service-accounts" as const;
const ACCOUNT = `${ACCOUNTS}/{serviceAccountId}` as const;
const TOKENS = `${ACCOUNT}/api-tokens` as const;
const PAGE = 100;

export const serviceAccountsQuery = (org: string, offset = 0) =>
  queryOptions({
    queryKey: [...keys.serviceAccounts(org), "list", offset],
    queryFn: ({ signal }) =>
      unwrap(api.GET(ACCOUNTS, { params: { path: { orgId: org }, query: { limit: PAGE, offset } }, signal })),
  });

/** `etag` makes a change fail if another admin has changed the account since. */
export type AccountRecord = ServiceAccount & { etag: string | undefined };

export const serviceAccountQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [...keys.serviceAccounts(org), "one", id],
    queryFn: async ({ signal }): Promise<AccountRecord> => {
      const call = api.GET(ACCOUNT, { params: { path: { orgId: org, serviceAccountId: id } }, signal });
      const account = await unwrapData(call);
      return { ...account, etag: (await call).response.headers.get("ETag") ?? undefined };
    },
  });

export type AccountChange = { name?: string; role?: Role; description?: string | null };

export function createServiceAccount(org: string, body: { name: string; role: Role; description?: string }) {
  const params = { path: { orgId: org } };
  return change((headers) => unwrapData(api.POST(ACCOUNTS, { params, body, headers })));
}

export function updateServiceAccount(org: string, { id, etag }: AccountRecord, body: AccountChange) {
  const path = { orgId: org, serviceAccountId: id };
  return change((headers) => {
    const params = { path, header: { ...headers, "If-Match": etag } };
    return unwrapData(api.PATCH(ACCOUNT, { params, body, headers }));
  });
}

export function deleteServiceAccount(org: string, id: string) {
  const params = { path: { orgId: org, serviceAccountId: id } };
  return change((headers) => unwrapData(api.DELETE(ACCOUNT, { params, headers })));
}

/** What another role, or without `role` the deletion, would end. It changes nothing, and is never cached. */
export const accountEndingsQuery = (org: string, id: string, role?: Role) =>
  queryOptions({
    queryKey: [...keys.serviceAccounts(org), "endings", id, role ?? "deleted"],
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const params = { path: { orgId: org, serviceAccountId: id }, query: { dryRun: true } };
      const changed = role
        ? await unwrapData(api.PATCH(ACCOUNT, { params, body: { role }, signal }))
        : await unwrapData(api.DELETE(ACCOUNT, { params, signal }));
      return changed.ended;
    },
  });

export const accountTokensQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [...keys.tokens(org), "of", id],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, serviceAccountId: id }, query: { limit: PAGE } };
      return unwrap(api.GET(TOKENS, { params, signal }));
    },
  });

/** The secret is in the first response only: it is missing if the request had to be repeated. */
export function createAccountToken(org: string, id: string, body: NewToken) {
  const params = { path: { orgId: org, serviceAccountId: id } };
  return change((headers) => unwrapData(api.POST(TOKENS, { params, body, headers })));
}
