// One session: is it still mine, what runs in it, how did it end. A session can be read for ever.
import { Suspense, type ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { meQuery } from "@/api/me";
import { type SessionRef, sessionQuery } from "@/api/session";
import type { Me, Session } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { serverNow } from "@/lib/clock";
import { useFavicon, useTitle } from "@/lib/favicon";
import { shortCommit } from "@/lib/ids";
import { lazily } from "@/lib/lazily";
import { paths } from "@/lib/paths";
import { environment as environmentTexts } from "@/texts/en/environment";
import { session as texts } from "@/texts/en/session";
import { Badge, StateMark } from "@/ui/Badge";
import { buttonClass } from "@/ui/Button";
import { Countdown } from "@/ui/Countdown";
import { Link } from "@/ui/Link";
import { DetailColumns, PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { TeardownMark } from "@/ui/TeardownMark";
import { sessionState, workState } from "@/ui/state";
import { leaseEnd } from "./receivers";
import { SessionActions } from "./SessionActions";
import { SessionFacts } from "./SessionFacts";
import { SessionNotices } from "./SessionNotices";

const CleanupBar = lazily(() => import("@/features/environment"), "CleanupBar");
const ROUTE = "/o/$org/pipelines/$pipeline/environments/$env/sessions/$session";

export function SessionPage(): ReactNode {
  const ref: SessionRef = useParams({ from: ROUTE });
  const session = useQuery(sessionQuery(ref));
  const me = useQuery(meQuery(ref.org)).data;
  useTitle(texts.title(ref.env), ref.pipeline);
  if (session.error && !session.data)
    return <ProblemPanel error={session.error} onRetry={() => void session.refetch()} />;
  if (!session.data || !me) return <SkeletonRows />;
  return (
    <Loaded
      at={ref}
      session={session.data}
      me={me}
      receivedAt={session.dataUpdatedAt}
      onEnd={() => void session.refetch()}
    />
  );
}

type Props = { at: SessionRef; session: Session; me: Me; receivedAt: number; onEnd: () => void };

function Loaded({ at, session, me, receivedAt, onEnd }: Props) {
  const mine = session.claimedBy.id === me.userId;
  const isActive = session.status === "active";
  const endsAt = isActive ? leaseEnd(session, receivedAt + serverNow() - Date.now()) : undefined;
  useFavicon(isActive && mine ? "yours" : "idle");
  return (
    <>
      <PageHead
        title={texts.title(session.envName)}
        badge={
          <>
            <Badge state={sessionState(session.status, mine)} />
            {endsAt !== undefined && (
              <span className="font-mono text-13 text-ink2 tabular-nums">
                <Countdown until={endsAt} onEnd={onEnd}>
                  {(left) => environmentTexts.left(left)}
                </Countdown>
              </span>
            )}
          </>
        }
        actions={
          isActive ? (
            <SessionActions at={at} session={session} me={me} mine={mine} />
          ) : (
            <Link to={paths.environment(at)} className={buttonClass("primary")}>
              {texts.claimAgain}
            </Link>
          )
        }
      />
      <SessionNotices session={session} />
      <Suspense>
        {session.cleanupFailed && <CleanupBar at={at} failed={session.cleanupFailed} role={me.role} />}
      </Suspense>
      <DetailColumns
        main={
          <section>
            <h2 className="mb-2 text-16">{texts.deployments}</h2>
            {session.deployments.length === 0 && <p className="text-ink2">{texts.noDeployments}</p>}
            <ul>
              {session.deployments.map((deployment) => (
                <li key={deployment.id} className="border-b border-line">
                  <Link
                    to={paths.deployment(at.org, deployment.id)}
                    className="flex min-h-row items-center gap-3 px-2 hover:bg-surface"
                  >
                    <StateMark state={workState(deployment.status)} />
                    <code className="text-12">{shortCommit(deployment.commitId)}</code>
                    {deployment.purpose === "teardown" && <TeardownMark />}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        }
        aside={<SessionFacts session={session} mine={mine} />}
      />
    </>
  );
}
