// The inbox: approvals that wait for the person's vote, and all others.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { approvalsQuery } from "@/api/approval";
import { pipelinesQuery } from "@/api/pipeline";
import type { Approval } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { approvals as texts } from "@/texts/en/approval";
import { approvalWords } from "@/texts/en/state";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { Segments } from "@/ui/Segments";
import { SkeletonRows } from "@/ui/Skeleton";
import { ApprovalTable } from "./ApprovalTable";

const ROUTE = "/o/$org/approvals";
const STATUSES = Object.keys(approvalWords) as Approval["status"][];

export function ApprovalList(): ReactNode {
  const { org } = useParams({ from: ROUTE });
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  useTitle(texts.title, org);
  const isMine = search.whose !== "all";
  const status = isMine ? undefined : STATUSES.find((known) => known === search.status);
  const offset = Math.max(0, Math.trunc(Number(search.offset ?? 0)) || 0);
  const pipelines = useQuery(pipelinesQuery(org)).data?.data;
  const list = useQuery({
    ...approvalsQuery(org, isMine ? { mine: true } : { status }, offset),
    placeholderData: keepPreviousData,
  });
  const page = list.data?.pagination;
  return (
    <>
      <PageHead title={texts.title} />
      <p className="mb-4 max-w-prose text-ink2">{texts.intro}</p>
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <Segments
          label={texts.whose}
          value={isMine ? "mine" : "all"}
          onChange={(whose) => void navigate({ search: { whose: whose === "all" ? "all" : undefined } })}
          segments={[
            { value: "mine", label: texts.mine },
            { value: "all", label: texts.all },
          ]}
        />
        {!isMine && (
          <label className="inline-flex items-center gap-2 text-13">
            {texts.status}
            <select
              className="min-h-row rounded-6 border border-control bg-raised px-2"
              value={status ?? ""}
              onChange={(event) => void navigate({ search: { whose: "all", status: event.target.value || undefined } })}
            >
              <option value="">{texts.anyStatus}</option>
              {STATUSES.map((value) => (
                <option key={value} value={value}>
                  {approvalWords[value]}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {list.isPending && <SkeletonRows />}
      {list.error && !list.data && <ProblemPanel error={list.error} onRetry={() => void list.refetch()} />}
      {list.data?.data.length === 0 &&
        (isMine ? (
          <Empty
            title={texts.nothingTitle}
            text={texts.nothingText}
            action={<Button onClick={() => void navigate({ search: { whose: "all" } })}>{texts.showAll}</Button>}
          />
        ) : status ? (
          <p>{texts.noMatch}</p>
        ) : (
          <Empty
            title={texts.emptyTitle}
            text={
              <>
                <p>{texts.emptyText}</p>
                <pre className="mt-2 overflow-x-auto rounded-4 bg-sunken p-3 font-mono text-12">{texts.emptyLines}</pre>
              </>
            }
          />
        ))}
      {list.data && list.data.data.length > 0 && (
        <ApprovalTable
          org={org}
          approvals={list.data.data}
          nameOf={(id) => pipelines?.find((pipeline) => pipeline.id === id)?.name}
        />
      )}
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
