// What a person can do with an approval, and why not. Pure: who may vote is decided by the server, whose list of
// approvals that wait for the person is passed in.
import type { ApprovalDetails, ApprovalRule, Deployment } from "@/api/types";

export type Standing =
  /** The approval waits for the person's vote, or it is not known yet whether it does. */
  | { kind: "may" }
  | { kind: "voted"; decision: string }
  | { kind: "own"; because: "started" | "retried" | "authored" }
  | { kind: "other" }
  | { kind: "decided" };

type Votes = Pick<ApprovalDetails, "status" | "votes" | "authors" | "selfApproval">;
type Origin = Pick<Deployment, "createdBy" | "retriedBy" | "onBehalfOf">;

export function standingOf(
  approval: Votes,
  userId: string,
  isMine: boolean | undefined,
  deployment: Origin | undefined,
): Standing {
  if (approval.status !== "pending") return { kind: "decided" };
  const vote = approval.votes.find(({ by, withdrawnAt }) => by.id === userId && !withdrawnAt);
  if (vote) return { kind: "voted", decision: vote.decision };
  if (isMine === true) return { kind: "may" };
  const starters = [deployment?.createdBy.id, deployment?.onBehalfOf?.id];
  if (!approval.selfApproval && starters.includes(userId)) return { kind: "own", because: "started" };
  if (!approval.selfApproval && deployment?.retriedBy?.id === userId) return { kind: "own", because: "retried" };
  if (!approval.selfApproval && approval.authors.some(({ id }) => id === userId))
    return { kind: "own", because: "authored" };
  return isMine === undefined ? { kind: "may" } : { kind: "other" };
}

/** Approvals beyond those of the rules: one, if a program started it or saved its definition. */
export function extraOf({ needed, rules }: { needed: number; rules: readonly ApprovalRule[] }): number {
  return Math.max(0, needed - rules.reduce((sum, { count }) => sum + count, 0));
}

export type Gate = "approval" | "freeze";

/** The gates that a stage waits for and that an admin can override. */
export function gatesOf({ waitingOn }: Pick<Deployment, "waitingOn">, stage: string): Gate[] {
  const kinds = waitingOn.filter((waiting) => "stage" in waiting && waiting.stage === stage).map(({ kind }) => kind);
  return (["approval", "freeze"] as const).filter((gate) => kinds.includes(gate));
}
