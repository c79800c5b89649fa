// The form that proposes a fix: what is wrong in it, and its request. Pure.
import type { Change } from "@/api/fix";

export type Form = { commit: string; branch: string };

export type Mistake = "commit" | "failing" | "branch";

/** SHA-1 has 40 digits, SHA-256 64. */
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** `failing` is the commit that fails. What else a branch may not contain, the server knows. */
export function mistakesOf(form: Form, failing: string): Mistake[] {
  const { commitId, branch } = requestOf(form);
  const mistakes: Mistake[] = [];
  if (!COMMIT.test(commitId)) mistakes.push("commit");
  else if (commitId === failing) mistakes.push("failing");
  if (branch === "") mistakes.push("branch");
  return mistakes;
}

export function requestOf({ commit, branch }: Form): Change {
  return { commitId: commit.trim().toLowerCase(), branch: branch.trim() };
}
