// Start a deployment of the whole pipeline.
import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { createDeployment } from "@/api/deployment";
import { Problem } from "@/api/problem";
import { ProblemPanel } from "@/features/problem";
import { isCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";

type Props = { org: string; pipeline: string; onClose: () => void };

export function DeployPipelineDialog({ org, pipeline, onClose }: Props) {
  const router = useRouter();
  const [commitId, setCommitId] = useState("");
  const [isTouched, setTouched] = useState(false);
  const deploy = useMutation({
    mutationFn: () => createDeployment(org, pipeline, { commitId }),
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
          {texts.deployPipeline}
        </Button>
      </form>
    </Dialog>
  );
}
