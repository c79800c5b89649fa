// One environment: its door, who is in line, the timeline of holds, and its facts.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import { environmentQuery, historyQuery, queueQuery } from "@/api/environment";
import { meQuery } from "@/api/me";
import type { Environment } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useFavicon, useTitle } from "@/lib/favicon";
import { useStableCallback } from "@/lib/useStableCallback";
import { useNow } from "@/lib/ticker";
import { history as texts } from "@/texts/en/history";
import { Button } from "@/ui/Button";
import { DetailColumns } from "@/ui/Page";
import { Segments } from "@/ui/Segments";
import { SkeletonRows } from "@/ui/Skeleton";
import { ActionDialog } from "./ActionDialog";
import { CleanupBar } from "./CleanupBar";
import { EnvironmentCard } from "./EnvironmentCard";
import { EnvironmentFacts } from "./EnvironmentFacts";
import { HistoryTable } from "./HistoryTable";
import { usePlaces } from "./places";
import { QueueList } from "./QueueList";
import { TimelineChart } from "./TimelineChart";
import { barsOf, daysOf } from "./timeline";
import { useActions } from "./useActions";
import { useBoardKeys } from "./useBoardKeys";
import type { Viewer } from "./view";

const ROUTE = "/o/$org/pipelines/$pipeline/environments/$env";
const RANGES = ["1", "7", "30"] as const;

export function EnvironmentPage(): ReactNode {
  const { org, pipeline, env } = useParams({ from: ROUTE });
  const ref = { org, pipeline, env };
  const environment = useQuery(environmentQuery(ref));
  const me = useQuery(meQuery(org)).data;
  useTitle(env, pipeline);
  if (environment.error && !environment.data) {
    return <ProblemPanel error={environment.error} onRetry={() => void environment.refetch()} />;
  }
  if (!environment.data || !me) return <SkeletonRows />;
  const data: Environment = environment.data;
  return (
    <>
      {data.cleanupFailed && <CleanupBar at={ref} failed={data.cleanupFailed} role={me.role} />}
      <DetailColumns
        head={
          <Door environment={data} userId={me.userId} role={me.role} onExpired={() => void environment.refetch()} />
        }
        main={
          <>
            <Queue />
            <History />
          </>
        }
        aside={<EnvironmentFacts environment={data} />}
      />
    </>
  );
}

type DoorProps = { environment: Environment; userId: string; role: Viewer["role"]; onExpired: () => void };

function Door({ environment, userId, role, onExpired }: DoorProps) {
  const { org, pipeline } = useParams({ from: ROUTE });
  const board = useMemo(() => [environment], [environment]);
  const places = usePlaces(org, pipeline, board);
  const viewer = useMemo<Viewer>(() => ({ userId, role, places }), [userId, role, places]);
  const find = (name: string) =>
    name === environment.envName ? { pipeline, environment, place: places.get(name) } : undefined;
  const actions = useActions(org, find);
  const { act, busyEnv } = actions;
  const expired = useStableCallback(onExpired);
  useBoardKeys(act, find, viewer);
  useFavicon(environment.lock.holder?.id === userId ? "yours" : "idle");
  return (
    <>
      <EnvironmentCard
        page
        org={org}
        pipeline={pipeline}
        environment={environment}
        viewer={viewer}
        busy={busyEnv !== undefined}
        onAct={act}
        onExpired={expired}
      />
      <ActionDialog org={org} actions={actions} find={find} viewer={viewer} />
    </>
  );
}

function Queue() {
  const queue = useQuery(queueQuery(useParams({ from: ROUTE })));
  if (queue.error && !queue.data) return <ProblemPanel error={queue.error} onRetry={() => void queue.refetch()} />;
  return queue.data ? <QueueList sessions={queue.data} /> : <SkeletonRows rows={1} />;
}

function History() {
  const ref = useParams({ from: ROUTE });
  const { range } = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const now = useNow("half-minute");
  const history = useInfiniteQuery(historyQuery(ref));
  const entries = useMemo(() => history.data?.pages.flatMap((page) => page.data) ?? [], [history.data]);
  const days = RANGES.find((known) => known === range) ?? "7";
  if (history.error && !history.data)
    return <ProblemPanel error={history.error} onRetry={() => void history.refetch()} />;
  return (
    <section className="mt-8 flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-20">{texts.title}</h2>
        <Segments
          label={texts.range}
          value={days}
          onChange={(value) => void navigate({ search: { range: value }, replace: true })}
          segments={RANGES.map((value) => ({ value, label: texts.ranges[value] }))}
        />
      </div>
      {history.isPending && <SkeletonRows />}
      {history.data && entries.length === 0 && <p className="text-ink2">{texts.empty}</p>}
      {entries.length > 0 && <TimelineChart at={ref} days={daysOf(barsOf(entries, now), now, Number(days))} />}
      {entries.length > 0 && <HistoryTable at={ref} entries={entries} />}
      {history.hasNextPage && (
        <Button busy={history.isFetchingNextPage} className="self-start" onClick={() => void history.fetchNextPage()}>
          {texts.more}
        </Button>
      )}
    </section>
  );
}
