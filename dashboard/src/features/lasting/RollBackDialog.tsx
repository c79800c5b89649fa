// Confirms a rollback: which stages of the earlier deployment run again, and where.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { deploymentQuery, retryStage } from "@/api/deployment";
import { keys } from "@/api/keys";
import type { LastingRef } from "@/api/lasting";
import type { EnvironmentDeployment } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { common } from "@/texts/en/common";
import { rollBack as texts } from "@/texts/en/lasting";
import { Confirm } from "@/ui/Confirm";
import { SkeletonRows } from "@/ui/Skeleton";
import { showToast } from "@/ui/toasts";
import { rollbackOf } from "./history";

type Props = { at: LastingRef; entry: EnvironmentDeployment; onClose: () => void };

export function RollBackDialog({ at: { org, name }, entry, onClose }: Props) {
  const queries = useQueryClient();
  const router = useRouter();
  const commit = shortCommit(entry.commitId);
  const deployment = useQuery(deploymentQuery(org, entry.deploymentId));
  const stages = deployment.data?.stages;
  const rollback = stages && rollbackOf(stages, name);
  const start = useMutation({
    mutationFn: (stage: string) => retryStage(org, entry.deploymentId, stage, { allowOlder: true }),
    onSuccess: () => {
      showToast({ title: texts.started(name, commit) });
      router.history.push(paths.deployment(org, entry.deploymentId));
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.deployment(org, entry.deploymentId) });
      void queries.invalidateQueries({ queryKey: keys.lasting(org) });
    },
  });
  return (
    <Confirm
      title={texts.title(name, commit)}
      text={texts.text(commit, entry.by.name)}
      action={texts.action}
      busy={start.isPending}
      why={rollback ? undefined : stages ? texts.notOne : common.loading}
      onConfirm={() => rollback && start.mutate(rollback.first.key)}
      onClose={onClose}
    >
      {deployment.error && !stages && (
        <ProblemPanel error={deployment.error} onRetry={() => void deployment.refetch()} />
      )}
      {deployment.isPending && <SkeletonRows rows={2} />}
      {stages && !rollback && <p className="text-ink2">{texts.notOne}</p>}
      {rollback && (
        <div>
          <p className="text-13 font-strong">{texts.repeated}</p>
          <ul className="list-disc pl-5">
            {rollback.repeated.map((stage) => (
              <li key={stage.key}>{stage.environment ? texts.stageIn(stage.name, stage.environment) : stage.name}</li>
            ))}
          </ul>
        </div>
      )}
      {start.error && <ProblemPanel error={start.error} />}
    </Confirm>
  );
}
