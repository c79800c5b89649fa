// The deployments of a fix, and how each of them has ended. Pure.
import type { Fix } from "@/api/types";

/** `undefined`: it has not ended, or its end says nothing about the fix. */
export type Outcome = "red" | "green" | "running" | undefined;

export type Run = { deployment: string; outcome: Outcome };

type Runs = Pick<Fix, "status" | "reason" | "reproductionId" | "verificationIds" | "succeededRuns">;

const AFTER_REPRODUCTION = ["verifying", "opening", "opened", "merged", "closed"];

/** The deployment of the failing commit. It is left out if this commit had failed twice in this way. */
export function reproductionOf(fix: Runs): Run | undefined {
  return fix.reproductionId ? { deployment: fix.reproductionId, outcome: outcomeOfReproduction(fix) } : undefined;
}

function outcomeOfReproduction({ status, reason, verificationIds }: Runs): Outcome {
  if (verificationIds.length > 0 || AFTER_REPRODUCTION.includes(status)) return "red";
  if (status === "reproducing") return "running";
  return reason === "not_reproduced" ? "green" : undefined;
}

/** Whether the failing commit was not deployed again, because nobody doubts that it fails. */
export const isReproductionLeftOut = ({ reproductionId, verificationIds }: Runs): boolean =>
  !reproductionId && verificationIds.length > 0;

/** The deployments of the fix. They run one after the other, and end with the first that fails. */
export function verificationsOf({ status, reason, verificationIds, succeededRuns }: Runs): Run[] {
  return verificationIds.map((deployment, index) => {
    if (index < succeededRuns) return { deployment, outcome: "green" };
    if (status === "verifying") return { deployment, outcome: "running" };
    return { deployment, outcome: reason === "still_red" ? "red" : undefined };
  });
}
