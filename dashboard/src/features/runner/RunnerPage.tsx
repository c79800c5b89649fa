// Runner pools and runners: what runs, what waits, who was seen when; create, change, revoke.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import { poolsQuery, revokeRunner, runnersQuery } from "@/api/runner";
import type { Runner, RunnerPool } from "@/api/types";
import { ProblemPanel, showProblem } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { runner as texts } from "@/texts/en/runner";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { showToast } from "@/ui/toasts";
import { PoolTable } from "./PoolTable";
import { Refused } from "./Refused";
import { RunnerTable } from "./RunnerTable";

const NewRunnerDialog = lazily(() => import("./NewRunnerDialog"), "NewRunnerDialog");
const PoolDialog = lazily(() => import("./PoolDialog"), "PoolDialog");
const Confirm = lazily(() => import("@/ui/Confirm"), "Confirm");

export function RunnerPage(): ReactNode {
  const { org } = useParams({ from: "/o/$org/runners" });
  useTitle(texts.title, org);
  const queries = useQueryClient();
  const pools = useQuery(poolsQuery(org));
  const runners = useQuery(runnersQuery(org));
  const [isCreating, setCreating] = useState(false);
  const [toRevoke, setToRevoke] = useState<Runner | undefined>();
  const [toEdit, setToEdit] = useState<RunnerPool | undefined>();
  const revoke = useMutation({
    mutationFn: (runner: Runner) => revokeRunner(org, runner.id),
    onSuccess: (_, runner) => {
      setToRevoke(undefined);
      showToast({ title: texts.revokedToast(runner.name) });
    },
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.runners(org) }),
  });
  const failure = pools.error ?? runners.error;
  if (failure instanceof Problem && failure.kind === "refused") return <Refused org={org} error={failure} />;
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      {texts.create}
    </Button>
  );
  return (
    <>
      <PageHead title={texts.title} actions={create} />
      {pools.error && !pools.data && <ProblemPanel error={pools.error} onRetry={() => void pools.refetch()} />}
      <h2 className="mb-2 text-16">{texts.pools}</h2>
      {pools.isPending && <SkeletonRows rows={2} />}
      {pools.data && <PoolTable pools={pools.data} onEdit={setToEdit} />}
      <h2 className="mt-6 mb-2 text-16">{texts.runners}</h2>
      {runners.error && !runners.data && <ProblemPanel error={runners.error} onRetry={() => void runners.refetch()} />}
      {runners.isPending && <SkeletonRows />}
      {runners.data?.length === 0 && <Empty title={texts.emptyTitle} text={texts.emptyText} action={create} />}
      {runners.data && runners.data.length > 0 && (
        <RunnerTable org={org} runners={runners.data} onRevoke={setToRevoke} />
      )}
      <Suspense>
        {isCreating && <NewRunnerDialog org={org} pools={pools.data ?? []} onClose={() => setCreating(false)} />}
        {toEdit && <PoolDialog org={org} pool={toEdit} onClose={() => setToEdit(undefined)} />}
        {toRevoke && (
          <Confirm
            title={texts.revokeTitle(toRevoke.name)}
            text={texts.revokeText(toRevoke.jobs?.length ?? 0)}
            action={texts.revoke}
            busy={revoke.isPending}
            onConfirm={() => revoke.mutate(toRevoke)}
            onClose={() => setToRevoke(undefined)}
          />
        )}
      </Suspense>
    </>
  );
}
