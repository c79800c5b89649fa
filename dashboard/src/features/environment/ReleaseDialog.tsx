// Asks for confirmation before a session is released. The dialog opens only if a deployment is running in it, or if other sessions
// are queued for its environment.
import { useMutation } from "@tanstack/react-query";
import { releaseSession } from "@/api/session";
import { ProblemPanel } from "@/features/problem";
import { common } from "@/texts/en/common";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import type { DialogProps } from "./BoardDialog";
import { questionOf } from "./useActions";

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
      description={questionOf(environment)}
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
