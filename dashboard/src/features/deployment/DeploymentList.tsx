// All deployments of the organization, newest first.
import type { ReactNode } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { deploymentsQuery } from "@/api/deployment";
import type { Deployment } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { deployments as texts } from "@/texts/en/deployments";
import { workWords } from "@/texts/en/state";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { DeploymentTable } from "./DeploymentTable";

const ROUTE = "/o/$org/deployments";
const STATUSES: readonly Deployment["status"][] = [
  "running",
  "waiting",
  "queued",
  "failed",
  "errored",
  "succeeded",
  "canceled",
  "superseded",
];

export function DeploymentList(): ReactNode {
  const { org } = useParams({ from: ROUTE });
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  useTitle(texts.title, org);
  const status = STATUSES.find((known) => known === search.status);
  const offset = Math.max(0, Math.trunc(Number(search.offset ?? 0)) || 0);
  const list = useQuery({
    ...deploymentsQuery(org, { status, envName: search.env, commitId: search.commit }, offset),
    placeholderData: keepPreviousData,
  });
  const page = list.data?.pagination;
  const go = (next: number) =>
    void navigate({ search: (old) => ({ ...old, offset: next > 0 ? String(next) : undefined }) });
  return (
    <>
      <PageHead title={texts.title} />
      <label className="mb-4 inline-flex items-center gap-2 text-13">
        {texts.filter}
        <select
          className="min-h-row rounded-6 border border-control bg-raised px-2"
          value={status ?? ""}
          onChange={(event) =>
            void navigate({ search: { ...search, status: event.target.value || undefined, offset: undefined } })
          }
        >
          <option value="">{texts.all}</option>
          {STATUSES.map((value) => (
            <option key={value} value={value}>
              {workWords[value]}
            </option>
          ))}
        </select>
      </label>
      {list.isPending && <SkeletonRows />}
      {list.error && !list.data && <ProblemPanel error={list.error} onRetry={() => void list.refetch()} />}
      {list.data?.data.length === 0 &&
        (status ? <p>{texts.noMatch}</p> : <Empty title={texts.emptyTitle} text={texts.emptyText} />)}
      {list.data && list.data.data.length > 0 && <DeploymentTable org={org} deployments={list.data.data} />}
      {page && page.total > page.limit && (
        <div className="mt-4 flex gap-2">
          {offset > 0 && <Button onClick={() => go(offset - page.limit)}>{texts.newer}</Button>}
          {offset + page.limit < page.total && <Button onClick={() => go(offset + page.limit)}>{texts.older}</Button>}
        </div>
      )}
    </>
  );
}
