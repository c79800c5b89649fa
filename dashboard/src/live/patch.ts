// Changes of cached records by an event. Pure: each function returns the new record, or the same one if the
// event changes nothing in it.
import type { Deployment, Environment, Lock } from "@/api/types";
import type { EventDeployment, EventStage } from "./after";

const ENDED = new Set(["succeeded", "failed", "errored", "canceled", "superseded"]);
const ACTING = new Set(["running", "waiting", "paused", "canceling"]);

/** A lock with a lower fence than the cached one is stale. */
export function isStaleLock(cached: Lock, next: Lock): boolean {
  return typeof cached.fence === "number" && typeof next.fence === "number" && next.fence < cached.fence;
}

export function patchLock(environment: Environment, lock: Lock, time: string): Environment {
  if (isStaleLock(environment.lock, lock)) return environment;
  const wasHeld = environment.lock.status === "locked";
  const freeSince = lock.status === "locked" ? null : wasHeld ? time : environment.freeSince;
  return { ...environment, lock, freeSince };
}

export function patchEnvironmentDeployment(environment: Environment, deployment: EventDeployment): Environment {
  const next = { ...environment, workSlot: patchWorkSlot(environment, deployment) };
  const hasSucceeded = deployment.status === "succeeded";
  if (deployment.purpose === "teardown") {
    return hasSucceeded ? { ...next, deployed: null, cleanupFailed: null } : next;
  }
  const last = environment.lastDeployment;
  if (!last || last.id === deployment.id || last.createdAt < deployment.createdAt) {
    next.lastDeployment = { ...last, ...deployment };
  }
  if (hasSucceeded && deployment.endedAt) {
    next.deployed = { deploymentId: deployment.id, commitId: deployment.commitId, at: deployment.endedAt };
  }
  return next;
}

function patchWorkSlot(environment: Environment, deployment: EventDeployment): Environment["workSlot"] {
  const slot = environment.workSlot;
  if (ENDED.has(deployment.status)) return slot?.deploymentId === deployment.id ? null : slot;
  if (!ACTING.has(deployment.status) || !deployment.startedAt) return slot;
  return { ...slot, deploymentId: deployment.id, purpose: deployment.purpose, commitId: deployment.commitId };
}

export function patchDeployment(cached: Deployment, deployment: EventDeployment): Deployment {
  return cached.id === deployment.id ? { ...cached, ...deployment } : cached;
}

export function patchStage(cached: Deployment, stage: EventStage): Deployment {
  if (!cached.stages?.some(({ key }) => key === stage.key)) return cached;
  return { ...cached, stages: cached.stages.map((old) => (old.key === stage.key ? { ...old, ...stage } : old)) };
}
