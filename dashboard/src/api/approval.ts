// Approvals: what waits for votes, what exactly runs, and who has voted.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { Approval } from "./types";

const APPROVALS = "/organizations/{orgId}/approvals" as const;
const APPROVAL = `${APPROVALS}/{approvalId}` as const;
const PAGE = 50;
/** Home shows these; the side bar shows only how many there are. */
const MINE = 20;

export type ApprovalFilter = { status?: Approval["status"]; mine?: boolean; pipelineId?: string; environment?: string };

export const approvalsQuery = (org: string, filter: ApprovalFilter, offset = 0, limit = PAGE) =>
  queryOptions({
    queryKey: [...keys.approvals(org), "list", filter, offset, limit],
    queryFn: ({ signal }) => {
      const query = { ...filter, status: filter.status && [filter.status], limit, offset };
      return unwrap(api.GET(APPROVALS, { params: { path: { orgId: org }, query }, signal }));
    },
  });

/** Pending approvals that wait for the vote of the signed-in person. */
export const myApprovalsQuery = (org: string) => approvalsQuery(org, { mine: true }, 0, MINE);

export const approvalQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: keys.approval(org, id),
    queryFn: ({ signal }) =>
      unwrapData(api.GET(APPROVAL, { params: { path: { orgId: org, approvalId: id } }, signal })),
  });

/** `subjectDigest` is that of the subject which the person has read: the server rejects a vote for another one. */
export function approve(org: string, id: string, body: { subjectDigest: string; comment?: string }) {
  const params = { path: { orgId: org, approvalId: id } };
  return change((headers) => unwrapData(api.POST(`${APPROVAL}/approve`, { params, body, headers })));
}

export function reject(org: string, id: string, body: { subjectDigest: string; comment: string }) {
  const params = { path: { orgId: org, approvalId: id } };
  return change((headers) => unwrapData(api.POST(`${APPROVAL}/reject`, { params, body, headers })));
}

export function withdrawVote(org: string, id: string) {
  const params = { path: { orgId: org, approvalId: id } };
  return change((headers) => unwrapData(api.DELETE(`${APPROVAL}/vote`, { params, headers })));
}

export type Gate = "approval" | "freeze";

/** Lets a stage begin without its approval, or although its environment is frozen. */
export function overrideGates(org: string, id: string, stage: string, body: { reason: string; gates: Gate[] }) {
  const params = { path: { orgId: org, deploymentId: id, stageKey: stage } };
  return change((headers) =>
    unwrapData(
      api.POST("/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/override", {
        params,
        body,
        headers,
      }),
    ),
  );
}
