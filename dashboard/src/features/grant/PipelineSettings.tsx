// The settings of a pipeline: who has a higher role here than in the organization.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { grantsQuery } from "@/api/grant";
import { meQuery } from "@/api/me";
import { pipelineQuery } from "@/api/pipeline";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { grant as texts } from "@/texts/en/grant";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import type { OpenGrant } from "./GrantDialog";
import { GrantTable } from "./GrantTable";

const GrantDialog = lazily(() => import("./GrantDialog"), "GrantDialog");

export function PipelineSettings(): ReactNode {
  const { org, pipeline } = useParams({ from: "/o/$org/pipelines/$pipeline/settings" });
  const record = useQuery(pipelineQuery(org, pipeline));
  useTitle(texts.title, record.data?.name ?? pipeline);
  const [offset, setOffset] = useState(0);
  const [open, setOpen] = useState<OpenGrant | undefined>();
  const role = useQuery(meQuery(org)).data?.role;
  const grants = useQuery({ ...grantsQuery(org, pipeline, offset), placeholderData: keepPreviousData });
  const page = grants.data?.pagination;
  const why = role !== undefined && hasRole(role, "admin") ? undefined : texts.adminsOnly;
  const create = (
    <Button look="primary" why={why} onClick={() => setOpen({ kind: "create" })}>
      {texts.create}
    </Button>
  );
  if (grants.error && !grants.data) return <ProblemPanel error={grants.error} onRetry={() => void grants.refetch()} />;
  return (
    <>
      <PageHead title={texts.title} actions={create} />
      <h2 className="mb-1 text-20">{texts.grants}</h2>
      <p className="mb-4 max-w-prose text-ink2">{texts.intro}</p>
      {grants.isPending && <SkeletonRows />}
      {grants.data?.data.length === 0 && <Empty title={texts.emptyTitle} text={texts.emptyText} action={create} />}
      {grants.data && grants.data.data.length > 0 && (
        <GrantTable
          org={org}
          grants={grants.data.data}
          why={why}
          onDelete={(grant) => setOpen({ kind: "delete", grant })}
        />
      )}
      {page && <Pager offset={offset} limit={page.limit} total={page.total} onGo={setOffset} />}
      <Suspense>
        {open && <GrantDialog org={org} pipeline={pipeline} open={open} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </>
  );
}
