// Which lasting environments a deployment has left out because its conditions saw no branch. Pure.
import type { Deployment } from "@/api/types";

export type Unreached = { environments: string[]; why: "no_branch" | "no_repository" };

/** A branch that was named counts only if the pipeline has a repository to look it up in. */
export function unreachedOf({
  skippedEnvironments = [],
  branch,
}: Pick<Deployment, "skippedEnvironments" | "branch">): Unreached | undefined {
  if (skippedEnvironments.length === 0) return undefined;
  return { environments: skippedEnvironments, why: branch ? "no_repository" : "no_branch" };
}
