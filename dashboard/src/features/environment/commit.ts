// What the dialogs that deploy ask for: a commit, and the branch that it is on. Pure.
import type { Deployment } from "@/api/types";
import { isCommit } from "@/lib/ids";
import { branch as texts } from "@/texts/en/branch";
import { environment } from "@/texts/en/environment";

export type Commit = { commitId: string; branch: string };

export const NO_COMMIT: Commit = { commitId: "", branch: "" };

/** What is wrong with the commit. One that `isOptional` may be left out, but not if a branch is named. */
export function mistakeOf({ commitId, branch }: Commit, isOptional: boolean): string | undefined {
  if (isOptional && commitId === "") return branch === "" ? undefined : texts.needsCommit;
  return isCommit(commitId) ? undefined : environment.commitInvalid;
}

/** The fields of the request. The server refuses an empty text and takes none for "not named". */
export function bodyOf({ commitId, branch }: Commit): { commitId: string; branch?: string } {
  return { commitId, branch: branch || undefined };
}

/** The branches of these deployments, each once, in their order. */
export function branchesOf(deployments: readonly Pick<Deployment, "branch">[]): string[] {
  return [...new Set(deployments.flatMap(({ branch }) => branch || []))];
}
