// Runs the actions of the board. Those that need no more input run at once; the others open their dialog.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { claimSession, heartbeatSession, releaseSession, renewSession } from "@/api/session";
import type { Environment, Lock, Session } from "@/api/types";
import { toggleWatch } from "@/features/notice";
import { showProblem } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { askForNotifications } from "@/lib/notify";
import { useStableCallback } from "@/lib/useStableCallback";
import { environment as texts } from "@/texts/en/environment";
import { releaseQuestion } from "@/texts/en/release";
import { clock } from "@/texts/en/time";
import { showToast } from "@/ui/toasts";
import type { Verb } from "./actions";
import { updateEnvironment } from "./cache";
import { recordPlace } from "./places";
import { queuedMessage } from "./stay";
import { idOf, type Place, type Shown } from "./view";

/** The dialogs of the board. `env` is the environment's id on the board. */
export type DialogKind = "claim" | "deploy" | "ask" | "force" | "release";
export type OpenDialog = { kind: DialogKind; env: string };

export type Target = { pipeline: string; environment: Shown; place: Place | undefined };

export function useActions(org: string, find: (env: string) => Target | undefined) {
  const [dialog, setDialog] = useState<OpenDialog | undefined>();
  const settle = useSettle(org);
  const run = useMutation({
    mutationFn: ({ verb, target }: { verb: Verb; target: Target }) => send(org, verb, target),
    onSuccess: (session, { verb, target }) => {
      settle(target.pipeline, session);
      if (session) showToast(messageOf(verb, session));
    },
    onError: showProblem,
  });
  const act = useStableCallback((verb: Verb, env: string) => {
    const target = find(env);
    if (!target) return;
    if (verb === "notify") return watch(org, target);
    if (verb === "queue") askForNotifications();
    const needsDialog = dialogOf(verb, target.environment);
    if (needsDialog) setDialog({ kind: needsDialog, env });
    else run.mutate({ verb, target });
  });
  const busyEnv = run.isPending ? idOf(run.variables.target.environment) : undefined;
  return { act, dialog, setDialog, settle, busyEnv };
}

function watch(org: string, { pipeline, environment }: Target): void {
  const { envName } = environment;
  const isOn = toggleWatch({ org, pipeline, env: envName });
  if (isOn) askForNotifications();
  showToast({ title: isOn ? texts.willTell(envName) : texts.wontTell(envName) });
}

function dialogOf(verb: Verb, environment: Environment): DialogKind | undefined {
  if (verb === "claim" || verb === "deploy" || verb === "ask" || verb === "force") return verb;
  return verb === "release" && questionOf(environment) ? "release" : undefined;
}

/** What is asked before this environment is released. */
export function questionOf({ workSlot, lock }: Environment): string | undefined {
  const isRunning = workSlot != null && workSlot.purpose === "session";
  return releaseQuestion({ isRunning, waiting: lock.queueLength });
}

function send(org: string, verb: Verb, { pipeline, environment, place }: Target): Promise<Session | undefined> {
  const ref = { org, pipeline, env: environment.envName };
  if (verb === "queue") return claimSession(ref, { queue: true });
  const session = verb === "leave" ? place?.sessionId : environment.lock.sessionId;
  if (!session) return Promise.resolve(undefined);
  if (verb === "renew") return renewSession({ ...ref, session });
  if (verb === "take") return heartbeatSession({ ...ref, session });
  return releaseSession({ ...ref, session });
}

function messageOf(verb: Verb, session: Session) {
  const until = timeOf(session.expiresAt);
  if (session.status === "queued") return queuedMessage(session, Date.now());
  if (session.status !== "active") return { title: texts.released(session.envName) };
  const isLonger = (verb === "renew" || verb === "take") && until !== undefined;
  return {
    title: isLonger ? texts.renewed(session.envName, clock(until, Date.now())) : texts.claimed(session.envName),
  };
}

/** Shows the result of an own action at once: the response is as new as the event that follows it. */
export function useSettle(org: string): (pipeline: string, session: Session | undefined) => void {
  const queries = useQueryClient();
  return (pipeline, session) => {
    if (!session) return;
    recordPlace(queries, org, pipeline, session);
    const lock: Lock = session.lock;
    const target = { org, pipeline, env: session.envName };
    updateEnvironment(queries, target, (environment) => ({ ...environment, lock }));
    void queries.invalidateQueries({ queryKey: keys.environment(org, pipeline, session.envName) });
  };
}
