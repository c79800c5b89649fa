// What an environment's chips show. A freeze and a hold can apply at the same time. Pure.
import type { LastingEnvironment } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import type { LastingState } from "@/ui/state";

type Gates = Pick<LastingEnvironment, "freeze" | "hold" | "live">;

/** The hold, unless it has ended since it was read. */
export function holdOf({ hold }: Pick<Gates, "hold">, now: number): LastingEnvironment["hold"] {
  return hold && (timeOf(hold.until) ?? 0) > now ? hold : undefined;
}

/** The freeze, unless it has ended since it was read. */
export function freezeOf({ freeze }: Pick<Gates, "freeze">, now: number): LastingEnvironment["freeze"] {
  return freeze && (timeOf(freeze.until) ?? 0) > now ? freeze : undefined;
}

/** What keeps others out, or else that something is live. Empty if nothing is. */
export function statesOf(environment: Gates, now: number): LastingState[] {
  const states: LastingState[] = [];
  if (freezeOf(environment, now)) states.push("frozen");
  if (holdOf(environment, now)) states.push("held");
  if (states.length === 0 && environment.live) states.push("live");
  return states;
}
