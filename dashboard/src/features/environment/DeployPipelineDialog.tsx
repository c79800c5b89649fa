// Start a deployment of the whole pipeline.
import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { createDeployment } from "@/api/deployment";
import { Problem } from "@/api/problem";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { CommitFields } from "./CommitFields";
import { bodyOf, mistakeOf, NO_COMMIT } from "./commit";

type Props = { org: string; pipeline: string; onClose: () => void };

export function DeployPipelineDialog({ org, pipeline, onClose }: Props) {
  const router = useRouter();
  const [commit, setCommit] = useState(NO_COMMIT);
  const [isTouched, setTouched] = useState(false);
  const deploy = useMutation({
    mutationFn: () => createDeployment(org, pipeline, bodyOf(commit)),
    onSuccess: (deployment) => router.history.push(paths.deployment(org, deployment.id)),
  });
  const problem = deploy.error instanceof Problem ? deploy.error : undefined;
  return (
    <Dialog open onClose={onClose} title={texts.deployPipeline}>
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
          {texts.deployPipeline}
        </Button>
      </form>
    </Dialog>
  );
}
