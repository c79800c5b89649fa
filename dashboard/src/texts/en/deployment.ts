// What a deployment waits for, in one sentence per kind.
import { shortId } from "@/lib/ids";
import { clock } from "./time";

type Waiting = { kind: string; stage?: string; pool?: string; until?: string; deploymentId?: string };

/** A short version for cards. */
export function waitingWord(waiting: Waiting): string {
  return WORDS[waiting.kind] ?? "Waiting";
}

const WORDS: Record<string, string> = {
  work_slot: "Waiting for the environment",
  pipeline_stopped: "Pipeline stopped",
  pipeline_archived: "Will not start",
  concurrency: "Waiting for room",
  runner: "Waiting for a runner",
  retry: "Waiting to retry",
  approval: "Needs approval",
  running_steps: "Waiting for steps to end",
  freeze: "Frozen",
  hold: "Held",
  engine: "About to go on",
};

/** The whole sentence, for the deployment's own page. */
export function waitingSentence(waiting: Waiting, now: number): string {
  const stage = waiting.stage ?? "a stage";
  switch (waiting.kind) {
    case "work_slot":
      return `${shortId(waiting.deploymentId ?? "Another deployment")} still acts on the environment.`;
    case "pipeline_stopped":
      return "The pipeline is stopped. The deployment starts when it is resumed.";
    case "pipeline_archived":
      return "The pipeline is archived. The deployment will not start.";
    case "concurrency":
      return "The pipeline runs as many deployments as its definition allows.";
    case "runner":
      return `${stage} waits for a runner of pool ${waiting.pool ?? "default"}.`;
    case "retry":
      return waiting.until
        ? `${stage} is tried again at ${clock(Date.parse(waiting.until), now)}.`
        : `${stage} is tried again.`;
    case "approval":
      return `${stage} needs an approval.`;
    case "running_steps":
      return `Waits for ${stage} to end.`;
    case "engine":
      return "About to go on.";
    default:
      return `Waits for: ${waiting.kind}.`;
  }
}
