// What a deployment waits for, in one sentence per kind.
import { shortId } from "@/lib/ids";
import { clock } from "./time";

type Waiting = {
  kind: string;
  stage?: string | null;
  pool?: string;
  until?: string;
  deploymentId?: string;
  /** The lasting environment. */
  environment?: string | null;
  /** Of a freeze. */
  name?: string;
  /** Of a hold. */
  by?: { name: string };
  reason?: string;
  /** Of an approval. */
  needed?: number | null;
  have?: number | null;
  eligible?: number | null;
};

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
  const environment = waiting.environment ?? "the environment";
  const until = waiting.until ? ` until ${clock(Date.parse(waiting.until), now)}` : "";
  switch (waiting.kind) {
    case "work_slot":
      return `${shortId(waiting.deploymentId ?? "Another deployment")} still has ${environment}.${begins(waiting, "after it")}`;
    case "freeze":
      return `Frozen${until}${quoted(waiting.name)}.${begins(waiting, `in ${environment} when it ends`)}`;
    case "hold":
      return `${waiting.by?.name ?? "A maintainer"} holds ${environment}${until}${quoted(waiting.reason)}.${begins(waiting, "when the hold ends")}`;
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
      return approvalSentence(stage, waiting);
    case "running_steps":
      return `Waits for ${stage} to end.`;
    case "engine":
      return "About to go on.";
    default:
      return `Waits for: ${waiting.kind}.`;
  }
}

function approvalSentence(stage: string, { needed, have, eligible }: Waiting): string {
  if (typeof needed !== "number" || typeof have !== "number") return `${stage} needs an approval.`;
  const votes = `${stage} needs ${needed === 1 ? "an approval" : `${needed} approvals`}: ${have} of ${needed}.`;
  return typeof eligible === "number" && eligible < needed ? `${votes} Too few people could vote.` : votes;
}

function begins({ stage }: Waiting, when: string): string {
  return stage ? ` The stage ${stage} begins ${when}.` : "";
}

function quoted(text: string | undefined): string {
  return text ? `: “${text}”` : "";
}

/** Why a stage or a deployment has its status, where the server gives no detail. */
export const reasonWords: Record<string, string> = {
  outdated: "outdated: a newer deployment was first",
  gate_closed: "a hold or a freeze began before its first step",
  approval_rejected: "it was rejected",
  approval_expired: "nobody approved it in time",
  approval_lapsed: "it was not started in time after its approval, and has to be approved again",
  newer_deployment: "a newer deployment has replaced it",
};

export const superseded = {
  /** `environments` are those that it did not reach. */
  outdated: (environments: string) =>
    `Outdated: a newer deployment was first in ${environments}. The stages of this one did not begin there.`,
  showEnvironment: (name: string) => `Show ${name}`,
};

export const override = {
  gates: { approval: "approval", freeze: "freeze" } as Record<string, string>,
  and: " and the ",
  by: (who: string, gates: string, when: string) => `${who} overrode the ${gates}, ${when}:`,
};
