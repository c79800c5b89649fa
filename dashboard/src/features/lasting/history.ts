// The history of a lasting environment: how long each deployment was live, and to which one can be rolled back. Pure.
import type { EnvironmentDeployment, Stage } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { actors as texts } from "@/texts/en/actors";
import { override } from "@/texts/en/deployment";

export type HistoryRow = EnvironmentDeployment & {
  /** How long it was live in milliseconds, until now if it still is; `undefined` if it never was, or if it is not known. */
  liveFor: number | undefined;
  /** Whether it has succeeded here and something else is live now. */
  canRollBack: boolean;
};

/**
 * Newest first, as the API lists them. `isFromStart`: the list begins with the newest one. If it does not, the end of the
 * first one that was live is not known.
 */
export function historyRows(
  entries: readonly EnvironmentDeployment[],
  now: number,
  isFromStart: boolean,
): HistoryRow[] {
  let replacedAt: number | undefined = isFromStart ? now : undefined;
  const working = new Set(entries.filter(({ endedAt }) => !endedAt).map(({ deploymentId }) => deploymentId));
  const live = entries.find((entry) => entry.live)?.deploymentId;
  const offered = new Set<string>();
  return entries.map((entry) => {
    const { deploymentId, outcome, endedAt } = entry;
    const since = outcome === "succeeded" ? timeOf(endedAt) : undefined;
    const liveFor = since === undefined || replacedAt === undefined ? undefined : Math.max(0, replacedAt - since);
    replacedAt = since ?? replacedAt;
    // A deployment that was retried is listed again: the button is beside its newest entry.
    const isOther = deploymentId !== live && !working.has(deploymentId) && !offered.has(deploymentId);
    const canRollBack = outcome === "succeeded" && isOther;
    if (canRollBack) offered.add(deploymentId);
    return { ...entry, liveFor, canRollBack };
  });
}

/** The notes of an entry beside who worked there: whose deployment it was, and who overrode its gates, and why. */
export function notesOf({
  by,
  createdBy,
  rollback,
  overrides = [],
}: Pick<EnvironmentDeployment, "by" | "createdBy" | "rollback" | "overrides">): string[] {
  const notes = overrides.map(({ by: admin, gates, reason }) =>
    texts.overrode(admin.name, gates.map((gate) => override.gates[gate] ?? gate).join(override.and), reason),
  );
  if (!createdBy || createdBy.id === by.id) return notes;
  return [(rollback ? texts.rolledBackDeployment : texts.retriedDeployment)(createdBy.name), ...notes];
}

export type Rollback = {
  /** The stage to retry. */
  first: Stage;
  /** All stages that run again, in the order of the definition. */
  repeated: Stage[];
};

/**
 * What a rollback of an environment to a deployment repeats: its first stage there, and all stages that need it.
 * `undefined` if no single stage begins the work there.
 */
export function rollbackOf(stages: readonly Stage[], environment: string): Rollback | undefined {
  const byKey = new Map(stages.map((stage) => [stage.key, stage]));
  const needsAny = (stage: Stage, found: (needed: Stage) => boolean, seen = new Set<string>()): boolean =>
    stage.needs.some((key) => {
      const needed = byKey.get(key);
      if (!needed || seen.has(key)) return false;
      seen.add(key);
      return found(needed) || needsAny(needed, found, seen);
    });
  const here = stages.filter((stage) => stage.environment === environment && stage.attempt > 0);
  const [first, ...others] = here.filter((stage) => !needsAny(stage, (needed) => needed.environment === environment));
  if (!first || others.length > 0) return undefined;
  const isRepeated = (stage: Stage) => stage === first || needsAny(stage, (needed) => needed === first);
  return { first, repeated: stages.filter(isRepeated) };
}
