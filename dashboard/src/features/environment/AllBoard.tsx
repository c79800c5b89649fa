// The board of all pipelines of the organization. The server filters and pages it.
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import { allEnvironmentsQuery, environmentQuery } from "@/api/environment";
import { meQuery } from "@/api/me";
import { summaryQuery } from "@/api/summary";
import { ProblemPanel } from "@/features/problem";
import { useFavicon, useTitle } from "@/lib/favicon";
import { paths } from "@/lib/paths";
import { usePreferences } from "@/lib/preferences";
import { useStableCallback } from "@/lib/useStableCallback";
import { environment as texts } from "@/texts/en/environment";
import { Button, buttonClass } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Link } from "@/ui/Link";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonCards } from "@/ui/Skeleton";
import { ActionDialog } from "./ActionDialog";
import { AllFilters } from "./AllFilters";
import { countsOf, filterOf, groupOfState, offsetOf } from "./all";
import { updateEnvironment } from "./cache";
import { Doors } from "./Doors";
import { usePlaces } from "./places";
import { useActions } from "./useActions";
import { useBoardKeys } from "./useBoardKeys";
import { useFrozenOrder } from "./useFrozenOrder";
import { idOf, type Shown, type Viewer } from "./view";

const ROUTE = "/o/$org/environments";
const NONE: Shown[] = [];

export function AllBoard(): ReactNode {
  const { org } = useParams({ from: ROUTE });
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const queries = useQueryClient();
  const { view } = usePreferences();
  const me = useQuery(meQuery(org)).data;
  const summary = useQuery(summaryQuery(org)).data;
  const offset = offsetOf(search.offset);
  const list = useQuery({
    ...allEnvironmentsQuery(org, filterOf(search), offset),
    placeholderData: keepPreviousData,
  });
  const environments: readonly Shown[] = list.data?.data ?? NONE;
  const places = usePlaces(org, undefined, list.data?.data);
  const viewer = useMemo<Viewer>(
    () => ({ userId: me?.userId ?? "", role: me?.role ?? "viewer", places }),
    [me, places],
  );
  const ordered = useFrozenOrder(environments, viewer);
  const find = (id: string) => {
    const environment = environments.find((shown) => idOf(shown) === id);
    return environment && { pipeline: environment.pipeline ?? "", environment, place: places.get(id) };
  };
  const actions = useActions(org, find);
  useBoardKeys(actions.act, find, viewer);
  useTitle(texts.title, org);
  useFavicon(summary && summary.yours.held > 0 ? "yours" : "idle");
  const setSearch = (next: typeof search) =>
    void navigate({ search: (old) => ({ ...old, offset: undefined, ...next }), replace: next.offset === undefined });
  const readOne = async (id: string) => {
    const target = find(id);
    if (!target) return;
    const ref = { org, pipeline: target.pipeline, env: target.environment.envName };
    const fresh = await queries.fetchQuery({ ...environmentQuery(ref), staleTime: 0 });
    updateEnvironment(queries, ref, () => fresh);
  };
  const onExpired = useStableCallback((id: string) => void readOne(id).catch(() => undefined));
  const isFiltered = Boolean(search.q || search.state || search.label);
  const counts = countsOf(summary);
  const page = list.data?.pagination;
  return (
    <>
      <PageHead
        title={texts.title}
        tally={
          counts && [
            { count: counts.free, word: texts.tally.free },
            { count: counts.yours, word: texts.tally.yours },
            { count: counts.taken, word: texts.tally.taken },
            { count: counts.inLine, word: texts.tally.inLine },
          ]
        }
      />
      <AllFilters
        q={search.q ?? ""}
        group={groupOfState(search.state)}
        label={search.label}
        environments={environments}
        counts={counts}
        onChange={setSearch}
      />
      {list.error && !list.data && <ProblemPanel error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <SkeletonCards />}
      {page && environments.length === 0 && (isFiltered || offset > 0) && (
        <Empty
          title={texts.noMatchTitle}
          text={texts.noMatchText}
          action={
            <Button onClick={() => setSearch({ q: undefined, state: undefined, label: undefined })}>
              {texts.clear}
            </Button>
          }
        />
      )}
      {page && environments.length === 0 && !isFiltered && offset === 0 && (
        <Empty
          title={texts.emptyTitle}
          text={texts.emptyAllText}
          action={
            <Link to={paths.pipelines(org)} className={buttonClass("primary")}>
              {texts.toPipelines}
            </Link>
          }
        />
      )}
      <div {...ordered.freeze} aria-busy={list.isPlaceholderData || undefined}>
        <Doors
          org={org}
          environments={ordered.environments}
          viewer={viewer}
          view={view}
          busyEnv={actions.busyEnv}
          onAct={actions.act}
          onExpired={onExpired}
        />
      </div>
      {page && (
        <Pager
          offset={offset}
          limit={page.limit}
          total={page.total}
          onGo={(next) => setSearch({ offset: next > 0 ? String(next) : undefined })}
        />
      )}
      {me && <ActionDialog org={org} actions={actions} find={find} viewer={viewer} />}
    </>
  );
}
