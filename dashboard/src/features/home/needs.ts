// What waits for this person: turns, requests to hand over, approvals, and own deployments that failed lately. Pure.
import type { Approval, Deployment, ListedSession } from "@/api/types";
import { timeOf } from "@/lib/countdown";

export type Need =
  | { kind: "turn"; session: ListedSession }
  | { kind: "handover"; session: ListedSession; who: string }
  | { kind: "approval"; approval: Approval }
  | { kind: "failure"; deployment: Deployment };

const FAILURE_AGE = 24 * 3_600_000;

export function needsOf(
  sessions: readonly ListedSession[],
  approvals: readonly Approval[],
  deployments: readonly Deployment[],
  userId: string,
  now: number,
): Need[] {
  const active = sessions.filter(({ status }) => status === "active");
  const turns = active.filter(({ confirmBy }) => confirmBy).map((session): Need => ({ kind: "turn", session }));
  const handovers = active.flatMap((session): Need[] =>
    session.handover ? [{ kind: "handover", session, who: session.handover.requestedBy.name }] : [],
  );
  const failures = deployments
    .filter(({ status, createdBy, endedAt }) => {
      const isMine = createdBy.id === userId && (status === "failed" || status === "errored");
      return isMine && now - (timeOf(endedAt) ?? 0) < FAILURE_AGE;
    })
    .filter((deployment) => isNewest(deployment, deployments))
    .map((deployment): Need => ({ kind: "failure", deployment }));
  const votes = approvals.map((approval): Need => ({ kind: "approval", approval }));
  return [...turns, ...handovers, ...votes, ...failures];
}

/** A failure that a newer deployment of the same environment has followed is settled. */
function isNewest(deployment: Deployment, all: readonly Deployment[]): boolean {
  return !all.some(
    (other) =>
      other.pipelineId === deployment.pipelineId &&
      other.envName === deployment.envName &&
      other.createdAt > deployment.createdAt,
  );
}
