// The line of a card that shows what runs in the environment, or what ran last. Pure.
import { CircleDashed } from "lucide-react";
import type { Environment } from "@/api/types";
import { shortCommit } from "@/lib/ids";
import { timeOf } from "@/lib/countdown";
import { waitingWord } from "@/texts/en/deployment";
import { deploymentLine as texts } from "@/texts/en/environment";
import { type State, workState } from "@/ui/state";

export type DeploymentLine = {
  id: string;
  state: State;
  word: string;
  commit: string;
  /** When it ended; `undefined` while it is live. */
  endedAt: number | undefined;
  /** When it started, if it runs. */
  startedAt: number | undefined;
};

export function deploymentLineOf({
  workSlot,
  lastDeployment,
  deployed,
  lock,
}: Environment): DeploymentLine | undefined {
  if (workSlot?.purpose === "teardown") {
    const state: State = { ...workState("running"), tone: "slate" };
    return {
      id: workSlot.deploymentId,
      state,
      word: texts.teardown,
      commit: shortCommit(workSlot.commitId),
      endedAt: undefined,
      startedAt: undefined,
    };
  }
  if (!lastDeployment) return undefined;
  const { id, status, waitingOn, commitId, startedAt, endedAt } = lastDeployment;
  const first = waitingOn[0];
  const isBlocked = first !== undefined && (status === "queued" || status === "waiting");
  // A teardown has removed it since, or another session has not deployed yet.
  const isGone = status === "succeeded" && deployed?.deploymentId !== id;
  const state: State = isBlocked
    ? workState("waiting")
    : { ...workState(status), ...(isGone && { tone: "slate", icon: CircleDashed }) };
  return {
    id,
    state,
    word: isBlocked ? waitingWord(first) : wordOf(status, state, lock.status === "locked" && !isGone),
    commit: shortCommit(commitId),
    endedAt: timeOf(endedAt),
    startedAt: status === "running" ? timeOf(startedAt) : undefined,
  };
}

function wordOf(status: string, state: State, isHeld: boolean): string {
  if (status === "running") return texts.deploying;
  if (status === "succeeded") return isHeld ? texts.deployed : texts.lastDeployed;
  return isHeld ? state.word : texts.last(state.word);
}
