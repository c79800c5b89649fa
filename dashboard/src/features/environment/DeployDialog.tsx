// Deploy a commit into the own environment.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import { deployCommit } from "@/api/session";
import { ProblemPanel } from "@/features/problem";
import { shortCommit } from "@/lib/ids";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import type { DialogProps } from "./BoardDialog";
import { CommitFields } from "./CommitFields";
import { bodyOf, mistakeOf, NO_COMMIT } from "./commit";

export function DeployDialog({ org, pipeline, environment, onClose }: DialogProps) {
  const queries = useQueryClient();
  const { envName, lock } = environment;
  const [commit, setCommit] = useState(NO_COMMIT);
  const [isTouched, setTouched] = useState(false);
  const deploy = useMutation({
    mutationFn: () => deployCommit({ org, pipeline, env: envName, session: lock.sessionId ?? "" }, bodyOf(commit)),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.deploying(shortCommit(commit.commitId), envName) });
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
          if (!mistakeOf(commit, false) && !deploy.isPending) deploy.mutate();
        }}
      >
        <CommitFields
          org={org}
          pipeline={pipeline}
          commit={commit}
          onChange={setCommit}
          isTouched={isTouched}
          problem={problem}
        />
        {deploy.error && <ProblemPanel error={deploy.error} />}
        <Button type="submit" look="primary" busy={deploy.isPending} className="self-start max-md:w-full">
          {texts.deploy}
        </Button>
      </form>
    </Dialog>
  );
}
