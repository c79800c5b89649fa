// What a registry has that could not be used. Tags that were moved or lack a signature have events; everything else is in
// the registry's `error`, one problem in each line. Pure.
import type { Event, StepRegistry } from "@/api/types";
import { timeOf } from "@/lib/countdown";

/** `tag` is missing if the problem is about the whole registry. */
export type SyncProblem = { tag: string | undefined; text: string };

/** `roll-out/v2.3.0: the reason`. */
const OF_TAG = /^([a-z][a-z0-9-]{0,62}\/v\d+\.\d+\.\d+\S*): (.+)$/;

/** The problems of the last synchronization. */
export function problemsOf({ status, error }: Pick<StepRegistry, "status" | "error">): SyncProblem[] {
  if (status !== "degraded") return [];
  const lines = (error ?? "").split("\n").filter(Boolean);
  return lines.map((line) => {
    const [, tag, reason] = OF_TAG.exec(line) ?? [];
    return tag && reason ? { tag, text: reason } : { tag: undefined, text: line };
  });
}

export type Refusal = {
  id: string;
  tag: string;
  kind: "moved" | "signature";
  reason: string;
  at: number | undefined;
};

/** The refusals of one registry among the events of all. */
export function refusalsOf(registry: string, events: readonly Event[]): Refusal[] {
  const own = events.filter(({ subject }) => subject.startsWith(`step-registries/${registry}/`));
  return own.map((event) => {
    const data = record(event.data);
    return {
      id: event.id,
      tag: tagOf(data, event.subject),
      kind: event.type === "step.tag_moved" ? "moved" : "signature",
      reason: text(data.reason) ?? "",
      at: timeOf(event.time),
    };
  });
}

function tagOf(data: Record<string, unknown>, subject: string): string {
  const after = record(data.after);
  const name = subject.split("/").at(-1) ?? "";
  const version = text(after.version);
  return text(after.tag) ?? (version ? `${name}/v${version}` : name);
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
