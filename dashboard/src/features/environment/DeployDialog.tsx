// Deploy a commit into the own environment.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import { deployCommit } from "@/api/session";
import { ProblemPanel } from "@/features/problem";
import { isCommit, shortCommit } from "@/lib/ids";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import type { DialogProps } from "./BoardDialog";

export function DeployDialog({ org, pipeline, environment, onClose }: DialogProps) {
  const queries = useQueryClient();
  const { envName, lock } = environment;
  const [commitId, setCommitId] = useState("");
  const [isTouched, setTouched] = useState(false);
  const deploy = useMutation({
    mutationFn: () => deployCommit({ org, pipeline, env: envName, session: lock.sessionId ?? "" }, { commitId }),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.deploying(shortCommit(commitId), envName) });
      // A deploy renews the lease, and renewing records no event.
      void queries.invalidateQueries({ queryKey: keys.environments(org, pipeline) });
      void queries.invalidateQueries({ queryKey: keys.allEnvironments(org) });
    },
  });
  const problem = deploy.error instanceof Problem ? deploy.error : undefined;
  return (
    <Dialog open onClose={onClose} title={`${texts.deploy}: ${envName}`}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (isCommit(commitId) && !deploy.isPending) deploy.mutate();
        }}
      >
        <Field
          label={texts.commit}
          hint={texts.commitRequired}
          error={isTouched && !isCommit(commitId) ? texts.commitInvalid : problem?.field("/commitId")}
          value={commitId}
          className="font-mono"
          onChange={(event) => setCommitId(event.target.value.trim())}
        />
        {deploy.error && <ProblemPanel error={deploy.error} />}
        <Button type="submit" look="primary" busy={deploy.isPending} className="self-start max-md:w-full">
          {texts.deploy}
        </Button>
      </form>
    </Dialog>
  );
}
