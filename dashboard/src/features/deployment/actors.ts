// Who retried, rolled back, overrode or canceled a deployment: its author is another person, often. Pure.
import type { Deployment } from "@/api/types";
import { actors as texts } from "@/texts/en/actors";

type Holder = NonNullable<Deployment["retriedBy"]>;
type Actor = { name: string; who: string };

/** Everybody who acted on it after its author, in the order of what weighs most. */
export function actorsOf({
  rollback,
  retriedBy,
  canceledBy,
  stages = [],
}: Pick<Deployment, "rollback" | "retriedBy" | "canceledBy" | "stages">): Actor[] {
  const found: Actor[] = [];
  if (retriedBy) found.push({ name: rollback ? texts.rolledBackBy : texts.retriedBy, who: whoOf(retriedBy) });
  for (const { name, gateOverridden } of stages)
    if (gateOverridden) found.push({ name: texts.overriddenBy, who: texts.override(gateOverridden.by.name, name) });
  if (canceledBy) found.push({ name: texts.canceledBy, who: whoOf(canceledBy) });
  return found;
}

/** The name of the person, and that of the token, if it was a program. */
export function whoOf({ name, token }: Pick<Holder, "name" | "token">): string {
  return token ? texts.withToken(name, token) : name;
}
