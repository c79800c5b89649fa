// The places of this person in queues, and what keeps them while the page is open.
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo } from "react";
import { keys } from "@/api/keys";
import { heartbeatSession, mySessionsQuery } from "@/api/session";
import type { Environment, ListedSession, Session } from "@/api/types";
import { keepPlace } from "@/live";
import { idOf, type Place } from "./view";

const HEARTBEAT_INTERVAL = 30_000;

/** Records the place of a session of this person at once, before the list of sessions is read again. */
export function recordPlace(queries: QueryClient, org: string, pipeline: string, session: Session): void {
  queries.setQueryData<ListedSession[]>(keys.mySessions(org), (sessions = []) => {
    const others = sessions.filter(({ sessionId }) => sessionId !== session.sessionId);
    const isLive = session.status === "queued" || session.status === "active";
    return isLive ? [{ ...session, pipelineId: pipeline, pipeline }, ...others] : others;
  });
  void queries.invalidateQueries({ queryKey: keys.mySessions(org) });
}

type Waiting = Place & { id: string; pipeline: string; env: string };

/** The places by environment; without `pipeline`, of all pipelines. A session that holds its environment has none. */
export function usePlaces(
  org: string,
  pipeline: string | undefined,
  environments: readonly Environment[] | undefined,
): ReadonlyMap<string, Place> {
  const { data } = useQuery(mySessionsQuery(org));
  const queued = useMemo(() => (data ?? []).filter((session) => isQueuedIn(session, pipeline)), [data, pipeline]);
  // A text, so that a change of another environment does not make a new list, which would render all cards again.
  const granted = grantedOf(queued, environments);
  const waiting = useMemo(
    () => queued.filter(({ sessionId }) => !granted.includes(sessionId)).map((session) => waitingOf(session, pipeline)),
    [queued, granted, pipeline],
  );
  const [first, ...others] = waiting;
  useFirstPlace(org, first);
  useHeartbeats(org, others);
  return useMemo(() => new Map(waiting.map((place) => [place.id, place])), [waiting]);
}

function isQueuedIn(session: ListedSession, pipeline: string | undefined): boolean {
  const isHere = pipeline === undefined || session.pipeline === pipeline || session.pipelineId === pipeline;
  return session.status === "queued" && isHere;
}

function waitingOf(session: ListedSession, pipeline: string | undefined): Waiting {
  const { envName, sessionId, position } = session;
  const id = pipeline === undefined ? idOf(session) : envName;
  return { id, pipeline: session.pipeline, env: envName, sessionId, position: position ?? undefined };
}

function grantedOf(queued: readonly ListedSession[], environments: readonly Environment[] = []): string {
  if (queued.length === 0) return "";
  const holders = new Set(environments.map(({ lock }) => lock.sessionId));
  return queued
    .filter(({ sessionId }) => holders.has(sessionId))
    .map(({ sessionId }) => sessionId)
    .join(" ");
}

/** One stream keeps one place: a browser has six connections to a server, and the dashboard uses three. */
function useFirstPlace(org: string, place: Waiting | undefined): void {
  const { pipeline, env, sessionId } = place ?? {};
  useEffect(() => {
    if (!pipeline || !env || !sessionId) return;
    const stop = new AbortController();
    void keepPlace({ org, pipeline, env, session: sessionId }, stop.signal);
    return () => stop.abort();
  }, [org, pipeline, env, sessionId]);
}

/** Further places are kept by heartbeats. Each one keeps the place for the whole stay again, also after the page is closed. */
function useHeartbeats(org: string, places: readonly Waiting[]): void {
  const queries = useQueryClient();
  const beat = useEffectEvent(() => {
    for (const { pipeline, env, sessionId } of places) {
      heartbeatSession({ org, pipeline, env, session: sessionId }).then(
        (session) => recordPlace(queries, org, pipeline, session),
        () => undefined,
      );
    }
  });
  const isWaiting = places.length > 0;
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(() => beat(), HEARTBEAT_INTERVAL);
    return () => clearInterval(timer);
  }, [isWaiting]);
}
