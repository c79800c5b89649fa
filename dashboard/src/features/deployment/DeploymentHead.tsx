// State, what goes where, and the actions.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { cancelDeployment } from "@/api/deployment";
import { keys } from "@/api/keys";
import type { Deployment, Stage } from "@/api/types";
import { showProblem } from "@/features/problem";
import { useKeys } from "@/lib/keys";
import { deployment as texts } from "@/texts/en/deployments";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { PageHead } from "@/ui/Page";
import { RollbackMark } from "@/ui/RollbackMark";
import { deploymentState } from "@/ui/state";
import { showToast } from "@/ui/toasts";
import { canCancel, canRetry, titleOf } from "./pick";
import { useRetry } from "./useRetry";

type Props = { org: string; deployment: Deployment; stage: Stage | undefined };

export function DeploymentHead({ org, deployment, stage }: Props) {
  const queries = useQueryClient();
  const onSettled = () => queries.invalidateQueries({ queryKey: keys.deployment(org, deployment.id) });
  const cancel = useMutation({
    mutationFn: () => cancelDeployment(org, deployment.id),
    onSuccess: () => showToast({ title: texts.canceled }),
    onError: showProblem,
    onSettled,
  });
  const retry = useRetry(org, deployment.id);
  const mayCancel = canCancel(deployment.status);
  const retriable = stage && canRetry(deployment.status, stage.status) ? stage : undefined;
  useKeys({
    "Shift+C": () => mayCancel && !cancel.isPending && cancel.mutate(),
    "Shift+R": () => retriable && !retry.isPending && retry.mutate(retriable.key),
  });
  return (
    <PageHead
      title={titleOf(deployment)}
      badge={
        <span className="flex gap-1.5 self-center">
          <Badge state={deploymentState(deployment)} />
          {deployment.rollback && <RollbackMark />}
        </span>
      }
      actions={
        <>
          {retriable && (
            <Button look="primary" busy={retry.isPending} onClick={() => retry.mutate(retriable.key)}>
              {texts.retry(retriable.name)}
            </Button>
          )}
          {mayCancel && (
            <Button busy={cancel.isPending} onClick={() => cancel.mutate()}>
              {texts.cancel}
            </Button>
          )}
        </>
      }
    />
  );
}
