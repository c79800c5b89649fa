// Home: does anything wait for me, what happened to me, what do I hold, what happened lately.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { myApprovalsQuery } from "@/api/approval";
import { deploymentsQuery } from "@/api/deployment";
import { meQuery } from "@/api/me";
import { noticesQuery } from "@/api/notice";
import { pipelinesQuery } from "@/api/pipeline";
import { mySessionsQuery } from "@/api/session";
import { summaryQuery } from "@/api/summary";
import type { ListedSession } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { timeOf } from "@/lib/countdown";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { keptUntil } from "@/lib/stay";
import { useNow } from "@/lib/ticker";
import { environment as environmentTexts } from "@/texts/en/environment";
import { home as texts } from "@/texts/en/home";
import { pipeline as pipelineTexts } from "@/texts/en/pipeline";
import { Badge, StateMark } from "@/ui/Badge";
import { Countdown } from "@/ui/Countdown";
import { PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { TeardownMark } from "@/ui/TeardownMark";
import { approvalState, deploymentState, pipelineState, sessionState, workState } from "@/ui/state";
import { lastChangeOf, latelyOf } from "./lately";
import { type Need, needsOf } from "./needs";
import { Notices } from "./Notices";
import { Ago, Row, Section } from "./rows";

const MAX_PIPELINES = 10;

export function Home(): ReactNode {
  const { org } = useParams({ from: "/o/$org" });
  useTitle(texts.title, org);
  const now = useNow("half-minute");
  const me = useQuery(meQuery(org)).data;
  const summary = useQuery(summaryQuery(org)).data;
  const sessions = useQuery(mySessionsQuery(org));
  const notices = useQuery(noticesQuery(org));
  const approvals = useQuery(myApprovalsQuery(org));
  const deployments = useQuery(deploymentsQuery(org, {}));
  const pipelines = useQuery(pipelinesQuery(org));
  // Rendered together, because a section that is rendered later would shift the layout below it.
  const isLoading = [sessions, notices, approvals, deployments, pipelines].some(({ isPending }) => isPending);
  const needs = needsOf(
    sessions.data ?? [],
    approvals.data?.data ?? [],
    deployments.data?.data ?? [],
    me?.userId ?? "",
    now,
  );
  const more = (approvals.data?.pagination.total ?? 0) - (approvals.data?.data.length ?? 0);
  if (isLoading) {
    return (
      <>
        <PageHead title={texts.title} />
        <SkeletonRows rows={12} />
      </>
    );
  }
  return (
    <>
      <PageHead title={texts.title} />
      <Section title={texts.needsYou}>
        {needs.length === 0 && (
          <p className="text-ink2">
            {texts.nothing} {summary && texts.free(summary.environments.free)}
          </p>
        )}
        {needs.map((need) => (
          <NeedRow key={keyOf(need)} org={org} need={need} />
        ))}
        {more > 0 && (
          <Row to={paths.approvals(org)}>
            <span className="text-ink2">{texts.moreApprovals(more)}</span>
          </Row>
        )}
      </Section>
      <Notices org={org} />
      <Section title={texts.yours}>
        {sessions.error && !sessions.data && (
          <ProblemPanel error={sessions.error} onRetry={() => void sessions.refetch()} />
        )}
        {sessions.data?.length === 0 && <p className="text-ink2">{texts.noneYours}</p>}
        {sessions.data?.map((session) => (
          <SessionRow key={session.sessionId} org={org} session={session} />
        ))}
      </Section>
      <Section title={texts.lately}>
        {deployments.error && !deployments.data && (
          <ProblemPanel error={deployments.error} onRetry={() => void deployments.refetch()} />
        )}
        {latelyOf(deployments.data?.data ?? []).map((deployment) => (
          <Row key={deployment.id} to={paths.deployment(org, deployment.id)}>
            <StateMark state={deploymentState(deployment)} />
            <code className="shrink-0 text-12">{shortCommit(deployment.commitId)}</code>
            <span className="truncate">{deployment.envName ?? deployment.pipeline}</span>
            {deployment.purpose === "teardown" && <TeardownMark />}
            <span className="ml-auto truncate text-13 text-ink3 max-md:hidden">{deployment.createdBy.name}</span>
            <Ago time={lastChangeOf(deployment)} now={now} />
          </Row>
        ))}
        {deployments.data?.data.length === 0 && <p className="text-ink2">{texts.noneLately}</p>}
      </Section>
      <Pipelines org={org} />
    </>
  );
}

function Pipelines({ org }: { org: string }) {
  const pipelines = useQuery(pipelinesQuery(org));
  return (
    <Section title={texts.pipelines}>
      {pipelines.error && !pipelines.data && (
        <ProblemPanel error={pipelines.error} onRetry={() => void pipelines.refetch()} />
      )}
      {pipelines.data?.data.length === 0 && <p className="text-ink2">{texts.noPipelines}</p>}
      {pipelines.data?.data.slice(0, MAX_PIPELINES).map((pipeline) => (
        <Row key={pipeline.id} to={paths.pipeline(org, pipeline.slug)}>
          <span className="truncate font-strong">{pipeline.name}</span>
          {pipeline.status === "stopped" && <Badge state={pipelineState(pipeline.status)} />}
          <span className="ml-auto shrink-0 text-13 text-ink2 tabular-nums">
            {pipeline.environments && pipeline.environments.total > 0
              ? pipelineTexts.free(pipeline.environments.free, pipeline.environments.total)
              : ""}
          </span>
        </Row>
      ))}
    </Section>
  );
}

const environmentPath = (org: string, { pipeline, envName }: ListedSession) =>
  paths.environment({ org, pipeline, env: envName });

function keyOf(need: Need): string {
  switch (need.kind) {
    case "failure":
      return need.deployment.id;
    case "approval":
      return need.approval.id;
    default:
      return need.session.sessionId + need.kind;
  }
}

function NeedRow({ org, need }: { org: string; need: Need }) {
  if (need.kind === "failure") {
    const { id, commitId, envName, pipeline } = need.deployment;
    return (
      <Row to={paths.deployment(org, id)}>
        <StateMark state={workState("failed")} word={texts.failed(shortCommit(commitId), envName ?? pipeline)} />
      </Row>
    );
  }
  if (need.kind === "approval") {
    const { id, stage, environment, subject, have, needed } = need.approval;
    return (
      <Row to={paths.approval(org, id)}>
        <StateMark
          state={approvalState("pending")}
          word={texts.approve(shortCommit(subject.commitId), environment ?? stage)}
        />
        <span className="ml-auto shrink-0 font-mono text-12 text-ink3">{texts.votes(have, needed)}</span>
      </Row>
    );
  }
  const { session } = need;
  if (need.kind === "turn") {
    return (
      <Row to={environmentPath(org, session)}>
        <StateMark state={sessionState("active", true)} word={texts.turn(session.envName)} />
      </Row>
    );
  }
  return (
    <Row to={paths.session({ org, pipeline: session.pipeline, env: session.envName }, session.sessionId)}>
      <span className="font-strong text-violet">{texts.asked(need.who, session.envName)}</span>
    </Row>
  );
}

function SessionRow({ org, session }: { org: string; session: ListedSession }) {
  const endsAt = timeOf(session.expiresAt);
  const kept = keptUntil(session);
  const now = useNow("half-minute");
  return (
    <Row to={environmentPath(org, session)}>
      <span className="font-strong">{session.envName}</span>
      <span className="text-13 text-ink3">{session.pipeline}</span>
      <Badge state={sessionState(session.status, true)} />
      <span className="min-w-0 flex-1 truncate text-ink2">{session.context}</span>
      {kept !== undefined && (
        <span className="shrink-0 text-13 text-ink3">{environmentTexts.keptUntil(kept, now)}</span>
      )}
      {endsAt !== undefined && (
        <span className="font-mono text-12 text-ink3">
          <Countdown until={endsAt}>{(left) => environmentTexts.left(left)}</Countdown>
        </span>
      )}
    </Row>
  );
}
