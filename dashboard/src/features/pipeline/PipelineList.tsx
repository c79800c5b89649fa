// The list of pipelines: what is free in each, how its deployments went lately, stop and resume.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { meQuery } from "@/api/me";
import { pipelinesQuery } from "@/api/pipeline";
import type { Pipeline } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { pipeline as texts } from "@/texts/en/pipeline";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Filter } from "@/ui/Field";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { Segments } from "@/ui/Segments";
import { SkeletonRows } from "@/ui/Skeleton";
import { PipelineTable } from "./PipelineTable";
import { STATUSES, statusOf } from "./status";
import { useResume } from "./useResume";

const StopDialog = lazily(() => import("./StopDialog"), "StopDialog");
const ROUTE = "/o/$org/pipelines";

export function PipelineList(): ReactNode {
  const { org } = useParams({ from: ROUTE });
  const { q = "", status } = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  useTitle(texts.title, org);
  const [offset, setOffset] = useState(0);
  const [toStop, setToStop] = useState<Pipeline | undefined>();
  const role = useQuery(meQuery(org)).data?.role ?? "viewer";
  const resume = useResume(org);
  const chosen = statusOf(status);
  const filter = { ...(chosen === "all" ? {} : { status: chosen }), ...(q.trim() ? { q: q.trim() } : {}) };
  const list = useQuery({ ...pipelinesQuery(org, filter, offset), placeholderData: keepPreviousData });
  const rows = list.data?.data;
  const page = list.data?.pagination;
  const setSearch = (next: { q?: string; status?: string }) => {
    setOffset(0);
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true });
  };
  return (
    <>
      <PageHead title={texts.title} />
      <div className="mb-4 flex flex-wrap gap-2">
        <Filter
          label={texts.filter}
          value={q}
          onChange={(event) => setSearch({ q: event.target.value || undefined })}
        />
        <Segments
          label={texts.status}
          value={chosen}
          onChange={(value) => setSearch({ status: value === "all" ? undefined : value })}
          segments={STATUSES.map((value) => ({ value, label: texts.statuses[value] }))}
        />
      </div>
      {list.error && !list.data && <ProblemPanel error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <SkeletonRows />}
      {rows?.length === 0 &&
        (Object.keys(filter).length > 0 ? (
          <Empty
            title={texts.noMatchTitle}
            text={texts.noMatchText}
            action={<Button onClick={() => setSearch({ q: undefined, status: undefined })}>{texts.showAll}</Button>}
          />
        ) : (
          <Empty title={texts.emptyTitle} text={texts.emptyText} />
        ))}
      {rows && rows.length > 0 && (
        <PipelineTable
          org={org}
          pipelines={rows}
          why={hasRole(role, "maintainer") ? undefined : texts.maintainersOnly}
          busyId={resume.isPending ? resume.variables.id : undefined}
          onStop={setToStop}
          onResume={resume.mutate}
        />
      )}
      {page && <Pager offset={offset} limit={page.limit} total={page.total} onGo={setOffset} />}
      <Suspense>{toStop && <StopDialog org={org} pipeline={toStop} onClose={() => setToStop(undefined)} />}</Suspense>
    </>
  );
}
