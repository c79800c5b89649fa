// Organization Settings > Freezes: which hold now, which come, which are over; create, change, end.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { freezesQuery } from "@/api/freeze";
import { meQuery } from "@/api/me";
import { pipelinesQuery } from "@/api/pipeline";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { useNow } from "@/lib/ticker";
import { freeze as texts } from "@/texts/en/freeze";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import type { OpenFreeze } from "./FreezeDialog";
import { FreezeTable } from "./FreezeTable";
import { GROUPS, groupOf } from "./groups";

const FreezeDialog = lazily(() => import("./FreezeDialog"), "FreezeDialog");
const ROUTE = "/o/$org/settings/freezes";

export function FreezePage(): ReactNode {
  const { org } = useParams({ from: ROUTE });
  useTitle(texts.title, org);
  const now = useNow("half-minute");
  const [offset, setOffset] = useState(0);
  const [open, setOpen] = useState<OpenFreeze | undefined>();
  const role = useQuery(meQuery(org)).data?.role;
  const pipelines = useQuery(pipelinesQuery(org)).data?.data ?? [];
  const freezes = useQuery({ ...freezesQuery(org, offset), placeholderData: keepPreviousData });
  const why = role !== undefined && hasRole(role, "admin") ? undefined : texts.adminsOnly;
  const page = freezes.data?.pagination;
  const create = (
    <Button look="primary" why={why} onClick={() => setOpen({ kind: "create" })}>
      {texts.create}
    </Button>
  );
  return (
    <>
      <PageHead title={texts.title} actions={create} />
      <p className="mb-4 max-w-prose text-ink2">{texts.intro}</p>
      {freezes.isPending && <SkeletonRows />}
      {freezes.error && !freezes.data && <ProblemPanel error={freezes.error} onRetry={() => void freezes.refetch()} />}
      {freezes.data?.data.length === 0 && offset === 0 && (
        <Empty title={texts.emptyTitle} text={texts.emptyText} action={create} />
      )}
      {GROUPS.map((state) => {
        const rows = groupOf(freezes.data?.data ?? [], state, now);
        return (
          rows.length > 0 && (
            <section key={state} className="mb-6">
              <h2 className="mb-1 text-16">{texts.groups[state]}</h2>
              <FreezeTable
                label={texts.groups[state]}
                freezes={rows}
                state={state}
                nameOf={(id) => pipelines.find((pipeline) => pipeline.id === id)?.name}
                why={why}
                now={now}
                onOpen={setOpen}
              />
            </section>
          )
        );
      })}
      {page && <Pager offset={offset} limit={page.limit} total={page.total} onGo={setOffset} />}
      <Suspense>{open && <FreezeDialog org={org} open={open} onClose={() => setOpen(undefined)} />}</Suspense>
    </>
  );
}
