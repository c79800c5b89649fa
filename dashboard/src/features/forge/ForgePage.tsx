// Organization Settings > Forges: which are connected, and how their last call went; connect, change, remove.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { forgesQuery } from "@/api/forge";
import { Problem } from "@/api/problem";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { forge as texts } from "@/texts/en/forge";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import type { OpenForge } from "./ForgeDialog";
import { ForgeTable } from "./ForgeTable";

const ForgeDialog = lazily(() => import("./ForgeDialog"), "ForgeDialog");

export function ForgePage(): ReactNode {
  const { org } = useParams({ from: "/o/$org/settings/forges" });
  useTitle(texts.title, org);
  const [open, setOpen] = useState<OpenForge | undefined>();
  const forges = useQuery(forgesQuery(org));
  // The server refuses everyone but admins, with a text that names the role.
  const isRefused = forges.error instanceof Problem && forges.error.kind === "refused";
  const create = (
    <Button look="primary" onClick={() => setOpen({ kind: "create" })}>
      {texts.create}
    </Button>
  );
  return (
    <>
      <PageHead title={texts.title} actions={!isRefused && create} />
      <p className="mb-4 max-w-prose text-ink2">{texts.intro}</p>
      {forges.isPending && <SkeletonRows />}
      {forges.error && !forges.data && (
        <ProblemPanel error={forges.error} onRetry={isRefused ? undefined : () => void forges.refetch()} />
      )}
      {forges.data?.data.length === 0 && <Empty title={texts.emptyTitle} text={texts.emptyText} action={create} />}
      {forges.data && forges.data.data.length > 0 && <ForgeTable forges={forges.data.data} onOpen={setOpen} />}
      <Suspense>{open && <ForgeDialog org={org} open={open} onClose={() => setOpen(undefined)} />}</Suspense>
    </>
  );
}
