// Cancels a fix before its pull request is opened. Its session is released with it.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { cancelFix } from "@/api/fix";
import { keys } from "@/api/keys";
import type { Fix } from "@/api/types";
import { showProblem } from "@/features/problem";
import { shortCommit } from "@/lib/ids";
import { fix as texts } from "@/texts/en/fix";
import { Confirm } from "@/ui/Confirm";
import { showToast } from "@/ui/toasts";

type Props = { org: string; fix: Fix; onClose: () => void };

export function CancelDialog({ org, fix, onClose }: Props) {
  const queries = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => cancelFix(org, fix.id),
    onSuccess: () => showToast({ title: texts.canceled }),
    onError: showProblem,
    onSettled: () => {
      onClose();
      void queries.invalidateQueries({ queryKey: keys.evidence(org, fix.deploymentId) });
    },
  });
  return (
    <Confirm
      title={texts.cancelTitle}
      text={texts.cancelText(shortCommit(fix.commitId), fix.envName)}
      action={texts.cancelAction}
      close={texts.keep}
      busy={cancel.isPending}
      onConfirm={() => cancel.mutate()}
      onClose={onClose}
    />
  );
}
