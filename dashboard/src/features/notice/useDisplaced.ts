// Sessions of this person that ended without them: taken over by force, expired, or ended by somebody else. The
// list of live sessions shows that one is gone; the session itself shows who did it and why.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { sessionQuery } from "@/api/session";
import type { ListedSession, Session } from "@/api/types";
import { useStableCallback } from "@/lib/useStableCallback";

export type Displaced = { session: Session; pipeline: string };

export function useDisplaced(org: string, userId: string, sessions: readonly ListedSession[] | undefined) {
  const queries = useQueryClient();
  const known = useRef<readonly ListedSession[]>([]);
  const [displaced, setDisplaced] = useState<readonly Displaced[]>([]);
  const read = useStableCallback(async ({ pipeline, envName, sessionId }: ListedSession) => {
    const ref = { org, pipeline, env: envName, session: sessionId };
    const session = await queries.fetchQuery({ ...sessionQuery(ref), staleTime: 0 });
    if (!isSurprising(session, userId)) return;
    setDisplaced((others) => [
      { session, pipeline },
      ...others.filter((other) => other.session.sessionId !== sessionId),
    ]);
  });
  useEffect(() => {
    if (!sessions) return;
    const live = new Set(sessions.map(({ sessionId }) => sessionId));
    const gone = known.current.filter(({ sessionId, status }) => status === "active" && !live.has(sessionId));
    known.current = sessions;
    for (const session of gone) void read(session).catch(() => undefined);
  }, [sessions, read]);
  const dismiss = (sessionId: string) =>
    setDisplaced((all) => all.filter(({ session }) => session.sessionId !== sessionId));
  return { displaced, dismiss };
}

/** Whether somebody or something else has ended the session. */
export function isSurprising({ status, endedBy }: Pick<Session, "status" | "endedBy">, userId: string): boolean {
  if (status === "overridden" || status === "expired") return true;
  return status === "released" && endedBy != null && endedBy.id !== userId;
}
