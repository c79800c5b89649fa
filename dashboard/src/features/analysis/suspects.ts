// The changes that a model suspects. It names them by the numbers that the server gave them in the prompt: commits first, then
// the definition, images and the runner. Pure.
import type { FailureEvidence } from "@/api/types";
import { shortCommit } from "@/lib/ids";
import { visible } from "@/lib/visible";
import { changeTexts } from "@/texts/en/failure";

type Changes = NonNullable<FailureEvidence["changes"]>;

/** The text of each suspect. Ids that stand for no change are left out. */
export function suspectTexts(ids: readonly string[], changes: Changes | null | undefined): string[] {
  if (!changes) return [];
  const numbered = [...commitTexts(changes), ...changeTexts({ ...changes, commits: null })];
  return ids.flatMap((id) => numbered[Number(/^C(\d+)$/.exec(id)?.[1]) - 1] ?? []);
}

/** The commits that a forge has listed; without a list, there is one change. */
function commitTexts({ commits }: Changes): string[] {
  const listed = commits?.list ?? [];
  if (listed.length > 0) return listed.map(({ commitId, title }) => `${shortCommit(commitId)} ${visible(title)}`);
  return commits ? changeTexts({ commits, images: [] }) : [];
}
