// The confirmation dialog of a release. Without a running deployment, the release request is sent without it.
import { useMutation } from "@tanstack/react-query";
import { releaseSession } from "@/api/session";
import { ProblemPanel } from "@/features/problem";
import { common } from "@/texts/en/common";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import type { DialogProps } from "./BoardDialog";

export function ReleaseDialog({ org, pipeline, environment, onDone, onClose }: DialogProps) {
  const { envName, lock } = environment;
  const release = useMutation({
    mutationFn: () => releaseSession({ org, pipeline, env: envName, session: lock.sessionId ?? "" }),
    onSuccess: (session) => {
      onDone(session);
      onClose();
      showToast({ title: texts.released(envName) });
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={texts.releaseRunning(envName)}
      description={texts.releaseRunningText}
      actions={
        <>
          <Button look="primary" busy={release.isPending} onClick={() => release.mutate()}>
            {texts.release}
          </Button>
          <Button look="quiet" onClick={onClose}>
            {common.cancel}
          </Button>
        </>
      }
    >
      {release.error && <ProblemPanel error={release.error} />}
    </Dialog>
  );
}
