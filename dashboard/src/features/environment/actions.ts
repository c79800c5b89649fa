// Which actions a card offers. An action that the role does not include is shown, disabled, with the reason.
import type { Environment } from "@/api/types";
import { hasRole } from "@/lib/roles";
import { environment as texts } from "@/texts/en/environment";
import { configurationOf } from "./configuration";
import type { View, Viewer } from "./view";

export type Verb =
  | "claim"
  | "deploy"
  | "renew"
  | "release"
  | "queue"
  | "leave"
  | "ask"
  | "force"
  | "take"
  | "pass"
  | "notify";

export type Action = { verb: Verb; label: string; primary?: boolean; why?: string };

const LABELS: Record<Exclude<Verb, "notify">, string> = {
  claim: texts.claim,
  deploy: texts.deploy,
  renew: texts.renew,
  release: texts.release,
  queue: texts.queue,
  leave: texts.leave,
  ask: texts.ask,
  force: texts.force,
  take: texts.takeTurn,
  pass: texts.pass,
};

function verbsOf({ lock }: Environment, { state }: View): Exclude<Verb, "notify">[] {
  switch (state) {
    case "your_turn":
      return ["take", "pass"];
    case "yours":
      return ["deploy", "renew", "release"];
    case "in_line":
      return lock.status === "locked" && !lock.handover ? ["ask", "leave"] : ["leave"];
    case "asked_for":
      return ["queue"];
    case "held":
      return ["ask", "queue"];
    default:
      // While others wait, a plain claim is refused.
      return lock.queueLength > 0 ? ["queue"] : ["claim"];
  }
}

const PRIMARY: ReadonlySet<Verb> = new Set(["claim", "deploy", "take"]);

export function actionsOf(environment: Environment, view: View, viewer: Viewer): Action[] {
  const why = hasRole(viewer.role, "developer") ? undefined : texts.viewer;
  const verbs = verbsOf(environment, view);
  // The button to force is in the dialog that requests a hand-over, which does not open while one is pending.
  if (environment.lock.handover && canForce(environment, view, viewer)) verbs.push("force");
  return verbs.map((verb) => ({ verb, label: LABELS[verb], primary: PRIMARY.has(verb), why }));
}

/** Force is offered where the holder is asked, by a key, and on the card while a hand-over is pending. */
export function canForce(environment: Environment, view: View, viewer: Viewer): boolean {
  const isHeldByAnother = environment.lock.status === "locked" && view.door !== "yours";
  return isHeldByAnother && hasRole(viewer.role, configurationOf(environment).forceRole);
}

/** Whether to offer a message when the environment is free: while somebody else has it. */
export function canNotify({ state }: View): boolean {
  return state === "held" || state === "asked_for" || state === "in_line";
}

/** The keys of an environment. A key whose action is not offered does nothing. */
export const KEYS: Record<string, Verb> = {
  c: "claim",
  d: "deploy",
  r: "renew",
  x: "release",
  q: "queue",
  a: "ask",
  n: "notify",
  "Shift+F": "force",
};
