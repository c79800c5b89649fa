// The line of a card that shows what runs in the environment, or what ran last. Pure.
import type { Environment } from "@/api/types";
import { shortCommit } from "@/lib/ids";
import { timeOf } from "@/lib/countdown";
import { waitingWord } from "@/texts/en/deployment";
import { deploymentLine as texts } from "@/texts/en/environment";
import { type State, workState } from "@/ui/state";

export type DeploymentLine = {
  state: State;
  word: string;
  commit: string;
  /** When it ended; `undefined` while it is live. */
  endedAt: number | undefined;
  /** When it started, if it runs. */
  startedAt: number | undefined;
};

export function deploymentLineOf({ workSlot, lastDeployment, lock }: Environment): DeploymentLine | undefined {
  if (workSlot?.purpose === "teardown") {
    const state: State = { ...workState("running"), tone: "slate" };
    return {
      state,
      word: texts.teardown,
      commit: shortCommit(workSlot.commitId),
      endedAt: undefined,
      startedAt: undefined,
    };
  }
  if (!lastDeployment) return undefined;
  const { status, waitingOn, commitId, startedAt, endedAt } = lastDeployment;
  const first = waitingOn[0];
  const isBlocked = first !== undefined && (status === "queued" || status === "waiting");
  const state = isBlocked ? workState("waiting") : workState(status);
  return {
    state,
    word: isBlocked ? waitingWord(first) : wordOf(status, state, lock.status === "locked"),
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
