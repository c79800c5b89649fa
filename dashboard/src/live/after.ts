// Reads the state after a change from an event. Events of older servers have less of it, and a field that is
// missing or of another type counts as not there: then the record is read from the API.
import type { Deployment, Event, Lock, SessionDeployment, Stage } from "@/api/types";

export type After = {
  pipelineId?: string;
  envName?: string;
  sessionId?: string;
  deploymentId?: string;
  userId?: string;
  lock?: Lock;
  deployment?: EventDeployment;
  stage?: EventStage;
};

/** The fields of a deployment that an event contains. */
export type EventDeployment = SessionDeployment & Partial<Pick<Deployment, "canceledBy" | "retriedBy">>;

/** The fields of a stage that an event contains: all but its steps. */
export type EventStage = Pick<Stage, "key" | "status"> & Partial<Omit<Stage, "steps">>;

export function afterOf(event: Event): After {
  const after = record(record(event.data)?.after);
  if (!after) return {};
  return {
    pipelineId: text(after.pipelineId),
    envName: text(after.envName),
    sessionId: text(after.sessionId),
    deploymentId: text(after.deploymentId),
    userId: text(after.userId),
    lock: withText<Lock>(after.lock, "status"),
    deployment: withText<EventDeployment>(after.deployment, "id", "status"),
    stage: withText<EventStage>(after.stageRecord, "key", "status"),
  };
}

/** The id of the person, runner or token that made the change. */
export function actorOf(event: Event): string | undefined {
  return text(record(record(event.data)?.actor)?.id);
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function withText<Type>(value: unknown, ...fields: string[]): Type | undefined {
  const found = record(value);
  return found && fields.every((field) => typeof found[field] === "string") ? (found as Type) : undefined;
}
