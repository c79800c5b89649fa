// Which stage and step a deployment opens on: the failed one, else the running one, else the last that ran. Pure.
import type { Deployment, Stage, StepRun } from "@/api/types";
import { shortCommit } from "@/lib/ids";
import { deployment as texts } from "@/texts/en/deployments";

const PRIORITY = ["failed", "errored", "running", "canceled", "queued", "waiting"];

export function pickStage(stages: readonly Stage[], wanted: string | undefined): Stage | undefined {
  return (
    stages.find(({ key }) => key === wanted) ??
    byPriority(stages) ??
    stages.findLast(({ status }) => status === "succeeded") ??
    stages[0]
  );
}

export function pickStep(steps: readonly StepRun[], wanted: string | undefined): StepRun | undefined {
  return (
    steps.find(({ id }) => id === wanted) ??
    byPriority(steps) ??
    steps.findLast(({ status }) => status === "succeeded") ??
    steps[0]
  );
}

function byPriority<Record extends { status: string }>(records: readonly Record[]): Record | undefined {
  for (const status of PRIORITY) {
    const found = records.find((record) => record.status === status);
    if (found) return found;
  }
  return undefined;
}

/** The step that made the deployment fail. */
export function failureOf({
  status,
  stages = [],
}: Pick<Deployment, "status" | "stages">): { stage: Stage; step: StepRun } | undefined {
  if (status !== "failed" && status !== "errored") return undefined;
  for (const stage of stages) {
    const step = stage.steps.find((run) => run.status === "failed" || run.status === "errored");
    if (step) return { stage, step };
  }
  return undefined;
}

/** Whether there is evidence to read: a stage has failed, even if others go on. */
export function hasFailed({ stages = [] }: Pick<Deployment, "stages">): boolean {
  return stages.some(({ status }) => status === "failed" || status === "errored");
}

const LIVE = new Set(["queued", "running", "waiting", "paused"]);
const RETRIABLE = new Set(["failed", "errored", "canceled"]);

export const canCancel = (status: string): boolean => LIVE.has(status);

/** A retry reopens a deployment that has not succeeded, from a stage that has not. */
export const canRetry = (deployment: string, stage: string): boolean =>
  RETRIABLE.has(deployment) && RETRIABLE.has(stage);

/** The lasting environments that a deployment did not reach, because a newer one was first. */
export function outdatedIn({ stages = [] }: Pick<Deployment, "stages">): string[] {
  const outdated = stages.filter(({ reason, environment }) => reason === "outdated" && environment);
  return [...new Set(outdated.map(({ environment }) => environment ?? ""))];
}

const UPSTREAM = new Set(["upstream_failed", "upstream_skipped"]);

/** The stage because of which this one was skipped: the nearest one that it needs and that was not itself skipped like it. */
export function causeOf(stage: Stage, stages: readonly Stage[], seen = new Set<string>()): Stage | undefined {
  if (!UPSTREAM.has(stage.reason ?? "")) return undefined;
  for (const needed of stages.filter(({ key }) => stage.needs.includes(key) && !seen.has(key))) {
    seen.add(needed.key);
    if (needed.status === "succeeded") continue;
    const cause = UPSTREAM.has(needed.reason ?? "") ? causeOf(needed, stages, seen) : needed;
    if (cause) return cause;
  }
  return undefined;
}

/** The approval that the stage waits for. */
export function approvalOf({ waitingOn }: Pick<Deployment, "waitingOn">, stage: string): string | undefined {
  for (const waiting of waitingOn) {
    if (waiting.kind === "approval" && waiting.stage === stage) return waiting.approvalId ?? undefined;
  }
  return undefined;
}

/** Whether the stage waits for the end of a freeze. */
export function isFrozen({ waitingOn }: Pick<Deployment, "waitingOn">, stage: string): boolean {
  return waitingOn.some((waiting) => waiting.kind === "freeze" && waiting.stage === stage);
}

export function titleOf({
  purpose,
  commitId,
  envName,
  pipeline,
}: Pick<Deployment, "purpose" | "commitId" | "envName" | "pipeline">): string {
  const target = envName ?? pipeline;
  return purpose === "teardown" ? texts.teardownOf(target) : texts.to(shortCommit(commitId), target);
}
