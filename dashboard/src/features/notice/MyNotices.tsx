// What every page shows about the sessions of this person: it is their turn, somebody asks for what they hold,
// or a session has ended without them.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect } from "react";
import { keys } from "@/api/keys";
import { heartbeatSession, mySessionsQuery, releaseSession, type SessionRef } from "@/api/session";
import type { ListedSession } from "@/api/types";
import { showProblem } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { lazily } from "@/lib/lazily";
import { notify } from "@/lib/notify";
import { paths } from "@/lib/paths";
import { common } from "@/texts/en/common";
import { environment as environmentTexts } from "@/texts/en/environment";
import { session as texts } from "@/texts/en/session";
import { Button, buttonClass } from "@/ui/Button";
import { Countdown } from "@/ui/Countdown";
import { Bar } from "@/ui/Lamp";
import { Link } from "@/ui/Link";
import { endingOf } from "./ending";
import { useDisplaced } from "./useDisplaced";

const HandoverBar = lazily(() => import("./HandoverBar"), "HandoverBar");

const refOf = (org: string, { pipeline, envName, sessionId }: ListedSession): SessionRef => ({
  org,
  pipeline,
  env: envName,
  session: sessionId,
});

export function MyNotices({ org, userId }: { org: string; userId: string }) {
  const sessions = useQuery(mySessionsQuery(org)).data;
  const { displaced, dismiss } = useDisplaced(org, userId, sessions);
  const active = sessions?.filter(({ status }) => status === "active") ?? [];
  return (
    <>
      {active.map((session) =>
        session.confirmBy ? (
          <TurnBar key={session.sessionId} at={refOf(org, session)} confirmBy={timeOf(session.confirmBy)} />
        ) : session.handover ? (
          <Suspense key={session.sessionId}>
            <HandoverBar at={refOf(org, session)} handover={session.handover} />
          </Suspense>
        ) : null,
      )}
      {displaced.map(({ session, pipeline }) => (
        <Bar key={session.sessionId} tone="red">
          <span className="min-w-0 flex-1 max-md:basis-full">
            {session.envName}: {endingOf(session)}
          </span>
          <Link to={paths.environment({ org, pipeline, env: session.envName })} className={buttonClass("plain")}>
            {texts.claimAgain}
          </Link>
          <Button look="quiet" onClick={() => dismiss(session.sessionId)}>
            {common.close}
          </Button>
        </Bar>
      ))}
    </>
  );
}

/** The grant lasts until `confirmBy`; reading it changes nothing. */
function TurnBar({ at, confirmBy }: { at: SessionRef; confirmBy: number | undefined }) {
  const queries = useQueryClient();
  const onSettled = () => {
    void queries.invalidateQueries({ queryKey: keys.mySessions(at.org) });
    void queries.invalidateQueries({ queryKey: keys.environments(at.org, at.pipeline) });
    void queries.invalidateQueries({ queryKey: keys.environment(at.org, at.pipeline, at.env) });
  };
  const take = useMutation({ mutationFn: () => heartbeatSession(at), onError: showProblem, onSettled });
  const pass = useMutation({ mutationFn: () => releaseSession(at), onError: showProblem, onSettled });
  useEffect(() => notify(environmentTexts.yourTurn(at.env), at.session), [at.env, at.session]);
  return (
    <Bar tone="gold">
      <span className="min-w-0">{environmentTexts.yourTurn(at.env)}</span>
      {confirmBy !== undefined && (
        <span className="font-mono">
          <Countdown until={confirmBy} onEnd={onSettled}>
            {(left) => environmentTexts.left(left)}
          </Countdown>
        </span>
      )}
      <span className="ml-auto flex gap-2 max-md:w-full max-md:*:flex-1">
        <Button look="primary" busy={take.isPending} onClick={() => take.mutate()}>
          {environmentTexts.takeTurn}
        </Button>
        <Button busy={pass.isPending} onClick={() => pass.mutate()}>
          {environmentTexts.pass}
        </Button>
      </span>
    </Bar>
  );
}
