// What is where: all pipelines with their lasting environments. The server filters and pages the list.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { allLastingQuery } from "@/api/lasting";
import { pipelinesQuery } from "@/api/pipeline";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { isCommit, shortCommit } from "@/lib/ids";
import { useNow } from "@/lib/ticker";
import { lasting as texts } from "@/texts/en/lasting";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { Filters } from "./Filters";
import { Matrix } from "./Matrix";
import { columnsOf, rowsOf } from "./matrix";
import { statesOf } from "./state";

const ROUTE = "/o/$org/lasting";

export function LastingTable(): ReactNode {
  const { org } = useParams({ from: ROUTE });
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const now = useNow("half-minute");
  useTitle(texts.title, org);
  const pipelines = useQuery(pipelinesQuery(org)).data?.data ?? [];
  const commit = search.commit && isCommit(search.commit) ? search.commit : undefined;
  const offset = Math.max(0, Math.trunc(Number(search.offset ?? 0)) || 0);
  const filter = { ...(search.pipeline && { pipelineId: search.pipeline }), ...(commit && { commitId: commit }) };
  const list = useQuery({ ...allLastingQuery(org, filter, offset), placeholderData: keepPreviousData });
  const environments = list.data?.data ?? [];
  const rows = rowsOf(environments);
  const page = list.data?.pagination;
  const states = environments.flatMap((environment) => statesOf(environment, now));
  const count = (state: string) => states.filter((found) => found === state).length;
  const setSearch = (next: typeof search) =>
    void navigate({ search: (old) => ({ ...old, offset: undefined, ...next }), replace: next.offset === undefined });
  const isEmpty = list.data !== undefined && environments.length === 0;
  return (
    <>
      <PageHead
        title={texts.title}
        tally={
          list.data && [
            { count: count("held"), word: texts.tally.held },
            { count: count("frozen"), word: texts.tally.frozen },
          ]
        }
      />
      <Filters pipelines={pipelines} pipeline={search.pipeline} commit={search.commit ?? ""} onChange={setSearch} />
      {list.isPending && <SkeletonRows />}
      {list.error && !list.data && <ProblemPanel error={list.error} onRetry={() => void list.refetch()} />}
      {isEmpty && (search.pipeline || commit || offset > 0) && (
        <Empty
          title={texts.noMatchTitle}
          text={commit ? texts.nowhere(shortCommit(commit)) : texts.noneOfPipeline}
          action={
            <Button onClick={() => setSearch({ pipeline: undefined, commit: undefined })}>{texts.showAll}</Button>
          }
        />
      )}
      {isEmpty && !search.pipeline && !commit && offset === 0 && (
        <Empty
          title={texts.emptyTitle}
          text={
            <>
              <p className="mb-2">{texts.emptyText}</p>
              <pre className="rounded-4 bg-sunken p-2 text-12 text-ink">{texts.emptyLines}</pre>
            </>
          }
        />
      )}
      {rows.length > 0 && (
        <div aria-busy={list.isPlaceholderData || undefined}>
          <Matrix
            org={org}
            rows={rows}
            columns={columnsOf(rows)}
            nameOf={(row) => pipelines.find(({ id }) => id === row.pipelineId)?.name ?? row.slug}
            now={now}
          />
        </div>
      )}
      {page && (
        <Pager
          offset={offset}
          limit={page.limit}
          total={page.total}
          onGo={(next) => setSearch({ offset: next > 0 ? String(next) : undefined })}
        />
      )}
    </>
  );
}
