// The environment board of a pipeline.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import { environmentQuery, environmentsQuery } from "@/api/environment";
import { meQuery } from "@/api/me";
import { pipelineQuery } from "@/api/pipeline";
import type { Environment } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useFavicon, useTitle } from "@/lib/favicon";
import { paths } from "@/lib/paths";
import { usePreferences } from "@/lib/preferences";
import { useStableCallback } from "@/lib/useStableCallback";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Link } from "@/ui/Link";
import { PageHead } from "@/ui/Page";
import { SkeletonCards } from "@/ui/Skeleton";
import { ActionDialog } from "./ActionDialog";
import { BoardActions } from "./BoardActions";
import { BoardFilters, type GroupFilter, groupFilterOf } from "./BoardFilters";
import { EmptyBoard, StoppedBar } from "./BoardNotices";
import { updateEnvironment } from "./cache";
import { Doors } from "./Doors";
import { usePlaces } from "./places";
import { useActions } from "./useActions";
import { useBoardKeys } from "./useBoardKeys";
import { useFrozenOrder } from "./useFrozenOrder";
import { groupOf, matches, tallyOf, type Viewer } from "./view";

const ROUTE = "/o/$org/pipelines/$pipeline";
const NONE: Environment[] = [];

export function Board(): ReactNode {
  const { org, pipeline } = useParams({ from: ROUTE });
  const { q = "", state } = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const queries = useQueryClient();
  const { view } = usePreferences();
  const me = useQuery(meQuery(org)).data;
  const record = useQuery(pipelineQuery(org, pipeline));
  const board = useQuery(environmentsQuery(org, pipeline));
  const environments: Environment[] = board.data ?? NONE;
  const places = usePlaces(org, pipeline, board.data);
  const viewer = useMemo<Viewer>(
    () => ({ userId: me?.userId ?? "", role: me?.role ?? "viewer", places }),
    [me, places],
  );
  const group = groupFilterOf(state);
  const tally = tallyOf(environments, viewer);
  const ordered = useFrozenOrder(environments, viewer);
  const shown = ordered.environments.filter(
    (environment) => (group === "all" || groupOf(environment, viewer) === group) && matches(environment, q),
  );
  const find = (env: string) => {
    const environment = environments.find(({ envName }) => envName === env);
    return environment && { pipeline, environment, place: places.get(env) };
  };
  const actions = useActions(org, find);
  const { act, busyEnv } = actions;
  useBoardKeys(act, find, viewer);
  useTitle(texts.title, record.data?.name ?? pipeline);
  useFavicon(tally.yours > 0 ? "yours" : "idle");
  const setSearch = (next: { q?: string; state?: GroupFilter }) =>
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true });
  const readOne = useStableCallback(async (env: string) => {
    // Renewing records no event, so a countdown at zero reads the environment.
    const ref = { org, pipeline, env };
    const fresh = await queries.fetchQuery({ ...environmentQuery(ref), staleTime: 0 });
    updateEnvironment(queries, ref, () => fresh);
  });
  const onExpired = useStableCallback((env: string) => void readOne(env).catch(() => undefined));
  if (board.error && !board.data) return <ProblemPanel error={board.error} onRetry={() => void board.refetch()} />;
  return (
    <>
      {record.data?.stop && <StoppedBar org={org} pipeline={record.data} stop={record.data.stop} role={viewer.role} />}
      <PageHead
        title={texts.title}
        badge={
          <Link to={paths.pipelineSettings(org, pipeline)} className="text-13 text-ink2 underline max-md:ml-auto">
            {texts.settings}
          </Link>
        }
        tally={[
          { count: tally.free, word: texts.tally.free },
          { count: tally.yours, word: texts.tally.yours },
          { count: tally.held, word: texts.tally.held },
          { count: tally.inLine, word: texts.tally.inLine },
        ]}
        actions={<BoardActions org={org} pipeline={pipeline} environments={environments} viewer={viewer} onAct={act} />}
      />
      <BoardFilters q={q} group={group} tally={tally} onChange={setSearch} />
      {board.isPending && <SkeletonCards />}
      {board.data?.length === 0 && <EmptyBoard />}
      {environments.length > 0 && shown.length === 0 && (
        <Empty
          title={texts.noMatchTitle}
          text={texts.noMatchText}
          action={<Button onClick={() => setSearch({ q: undefined, state: undefined })}>{texts.clear}</Button>}
        />
      )}
      <div {...ordered.freeze}>
        <Doors
          org={org}
          pipeline={pipeline}
          environments={shown}
          viewer={viewer}
          view={view}
          busyEnv={busyEnv}
          onAct={act}
          onExpired={onExpired}
        />
      </div>
      {me && <ActionDialog org={org} actions={actions} find={find} viewer={viewer} />}
    </>
  );
}
