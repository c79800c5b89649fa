// Trust policies of a service account: which tokens of a CI system it exchanges for its own.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { components } from "./schema.gen";

const POLICIES = "/organizations/{orgId}/service-accounts/{serviceAccountId}/trust-policies" as const;
const POLICY = `${POLICIES}/{policyId}` as const;
const PAGE = 100;

type Request = components["schemas"]["CreateTrustPolicy"];

/** The document leaves the values of claims open; those that the form sends are texts. */
export type NewTrustPolicy = Omit<Request, "claims"> & { claims: Record<string, string> };

export const trustPoliciesQuery = (org: string, account: string) =>
  queryOptions({
    queryKey: [...keys.serviceAccounts(org), "policies", account],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, serviceAccountId: account }, query: { limit: PAGE } };
      return unwrap(api.GET(POLICIES, { params, signal }));
    },
  });

export function createTrustPolicy(org: string, account: string, policy: NewTrustPolicy) {
  const params = { path: { orgId: org, serviceAccountId: account } };
  const body = policy as Request;
  return change((headers) => unwrapData(api.POST(POLICIES, { params, body, headers })));
}

export function deleteTrustPolicy(org: string, account: string, policyId: string) {
  const params = { path: { orgId: org, serviceAccountId: account, policyId } };
  return change((headers) => unwrapData(api.DELETE(POLICY, { params, headers })));
}
