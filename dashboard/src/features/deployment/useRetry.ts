// Runs a stage of a deployment again.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { retryStage } from "@/api/deployment";
import { keys } from "@/api/keys";
import { showProblem } from "@/features/problem";
import { deployment as texts } from "@/texts/en/deployments";
import { showToast } from "@/ui/toasts";

export function useRetry(org: string, deployment: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (stage: string) => retryStage(org, deployment, stage),
    onSuccess: (_, stage) => showToast({ title: texts.retried(stage) }),
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.deployment(org, deployment) }),
  });
}
