// Why stages of the deployment have failed. What is known without a further request is shown first.
import { Suspense } from "react";
import type { Deployment } from "@/api/types";
import { lazily } from "@/lib/lazily";
import { paths } from "@/lib/paths";
import { deployment as texts } from "@/texts/en/deployments";
import { Button } from "@/ui/Button";
import { Link } from "@/ui/Link";
import { Skeleton } from "@/ui/Skeleton";
import { canRetry, failureOf, hasFailed } from "./pick";
import { useRetry } from "./useRetry";

const FailurePanel = lazily(() => import("@/features/failure"), "FailurePanel");

export function Failures({ org, deployment }: { org: string; deployment: Deployment }) {
  const retry = useRetry(org, deployment.id);
  if (!hasFailed(deployment)) return null;
  const failure = failureOf(deployment);
  const headline = failure && (
    <p className="mb-4 rounded-6 bg-red-soft px-3 py-2 font-strong text-red">
      {texts.failedStep(failure.stage.name, failure.step.name, failure.step.exitCode)}{" "}
      <Link
        to={paths.deployment(org, deployment.id, { stage: failure.stage.key, step: failure.step.id })}
        className="underline"
      >
        {texts.jump}
      </Link>
    </p>
  );
  // About as high as the panel, so that what is below it hardly moves.
  const skeleton = (
    <div className="mb-4">
      {headline}
      <Skeleton className="door h-[276px] w-full" />
    </div>
  );
  const actionsOf = (key: string) => {
    const stage = deployment.stages?.find((found) => found.key === key);
    if (!stage || !canRetry(deployment.status, stage.status)) return null;
    return (
      <Button busy={retry.isPending} onClick={() => retry.mutate(key)}>
        {texts.retry(stage.name)}
      </Button>
    );
  };
  return (
    <Suspense fallback={skeleton}>
      <FailurePanel org={org} deployment={deployment} fallback={headline} skeleton={skeleton} actionsOf={actionsOf} />
    </Suspense>
  );
}
