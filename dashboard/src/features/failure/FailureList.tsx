// All failures of the organization, newest first.
import type { ReactNode } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { failuresQuery } from "@/api/failure";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { failures as texts } from "@/texts/en/failure";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { FailureFilters } from "./FailureFilters";
import { FailureTable } from "./FailureTable";
import { filterOf, isFiltered } from "./filter";

const ROUTE = "/o/$org/failures";

export function FailureList(): ReactNode {
  const { org } = useParams({ from: ROUTE });
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  useTitle(texts.title, org);
  const filter = filterOf(search);
  const offset = Math.max(0, Math.trunc(Number(search.offset ?? 0)) || 0);
  const list = useQuery({ ...failuresQuery(org, filter, offset), placeholderData: keepPreviousData });
  const page = list.data?.pagination;
  const isEmpty = list.data?.data.length === 0;
  return (
    <>
      <PageHead title={texts.title} />
      <p className="mb-4 max-w-prose text-ink2">{texts.intro}</p>
      <FailureFilters
        org={org}
        filter={filter}
        onChange={(next) => void navigate({ search: { ...search, ...next, offset: undefined } })}
      />
      {list.isPending && <SkeletonRows />}
      {list.error && !list.data && <ProblemPanel error={list.error} onRetry={() => void list.refetch()} />}
      {isEmpty && isFiltered(filter) && (
        <p className="flex items-center gap-3">
          {texts.noMatch} <Button onClick={() => void navigate({ search: {} })}>{texts.showAll}</Button>
        </p>
      )}
      {isEmpty && !isFiltered(filter) && <Empty title={texts.emptyTitle} text={texts.emptyText} />}
      {list.data && !isEmpty && <FailureTable org={org} label={texts.title} failures={list.data.data} />}
      {page && (
        <Pager
          offset={offset}
          limit={page.limit}
          total={page.total}
          onGo={(next) => void navigate({ search: { ...search, offset: next > 0 ? String(next) : undefined } })}
        />
      )}
    </>
  );
}
