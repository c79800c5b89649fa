// API tokens.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { ApiToken } from "./types";

const PAGE = 100;

export const tokensQuery = (org: string, all: boolean) =>
  queryOptions({
    queryKey: [...keys.tokens(org), all],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org }, query: { limit: PAGE, all } };
      return unwrap(api.GET("/organizations/{orgId}/api-tokens", { params, signal }));
    },
    // Events of tokens are for admins only; others read again when they return to the page.
    refetchOnWindowFocus: true,
  });

export type NewToken = {
  name: string;
  kind: ApiToken["kind"];
  scopes: ApiToken["scopes"];
  pipelines?: string[];
  allowForce: boolean;
  /** `null` for a token that never expires. */
  expiresAt: string | null;
  /** Only for tokens of service accounts. */
  maxSessions?: number;
};

/** The secret is in the first response only: it is missing if the request had to be repeated. */
export function createToken(org: string, body: NewToken) {
  const params = { path: { orgId: org } };
  return change((headers) => unwrapData(api.POST("/organizations/{orgId}/api-tokens", { params, body, headers })));
}

export function revokeToken(org: string, id: string) {
  const params = { path: { orgId: org, tokenId: id } };
  return change((headers) =>
    unwrapData(api.DELETE("/organizations/{orgId}/api-tokens/{tokenId}", { params, headers })),
  );
}
