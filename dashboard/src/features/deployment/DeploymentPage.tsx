// One deployment: did it work, which line failed, what does it wait for, until when.
import { type ReactNode, Suspense } from "react";
import { useQuery } from "@tanstack/react-query";
import { useParams, useRouter, useRouterState, useSearch } from "@tanstack/react-router";
import { deploymentQuery } from "@/api/deployment";
import type { Deployment } from "@/api/types";
import { LogView, parseLines } from "@/features/log";
import { ProblemPanel } from "@/features/problem";
import { type Favicon, useFavicon, useTitle } from "@/lib/favicon";
import { shortCommit } from "@/lib/ids";
import { useKeys } from "@/lib/keys";
import { lazily } from "@/lib/lazily";
import { paths } from "@/lib/paths";
import { deployment as texts } from "@/texts/en/deployments";
import { unreached as unreachedTexts } from "@/texts/en/unreached";
import { DetailColumns } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { DeploymentFacts } from "./DeploymentFacts";
import { DeploymentHead } from "./DeploymentHead";
import { Failures } from "./Failures";
import { Waiting } from "./Waiting";
import { approvalOf, isFrozen, pickStage, pickStep } from "./pick";
import { SecretReads } from "./SecretReads";
import { StageGraph } from "./StageGraph";
import { StageSteps } from "./StageSteps";
import { Superseded } from "./Superseded";
import { unreachedOf } from "./unreached";

const ApprovalPanel = lazily(() => import("@/features/approval"), "ApprovalPanel");
const FreezeOverride = lazily(() => import("@/features/approval"), "FreezeOverride");
const ROUTE = "/o/$org/deployments/$id";
const ICONS: Record<string, Favicon> = { running: "running", failed: "failed", errored: "failed", waiting: "waiting" };

export function DeploymentPage(): ReactNode {
  const { org, id } = useParams({ from: ROUTE });
  const deployment = useQuery(deploymentQuery(org, id));
  if (deployment.error && !deployment.data)
    return <ProblemPanel error={deployment.error} onRetry={() => void deployment.refetch()} />;
  return deployment.data ? <Loaded org={org} deployment={deployment.data} /> : <SkeletonRows />;
}

function Loaded({ org, deployment }: { org: string; deployment: Deployment }) {
  const search = useSearch({ from: ROUTE });
  const router = useRouter();
  const hash = useRouterState({ select: (state) => (state.resolvedLocation ?? state.location).hash });
  const stages = deployment.stages ?? [];
  const stage = pickStage(stages, search.stage);
  const step = stage && pickStep(stage.steps, search.step);
  const approval = stage && approvalOf(deployment, stage.key);
  const unreached = unreachedOf(deployment);
  useTitle(shortCommit(deployment.commitId), deployment.pipeline);
  useFavicon(ICONS[deployment.status] ?? "idle");
  const move = (by: 1 | -1) => {
    const next = stages[stages.findIndex(({ key }) => key === stage?.key) + by];
    if (next) router.history.replace(paths.deployment(org, deployment.id, { stage: next.key }));
  };
  useKeys({ "]": () => move(1), "[": () => move(-1) });
  const mark = (from: number, to: number) =>
    router.history.replace(
      paths.deployment(
        org,
        deployment.id,
        { stage: stage?.key, step: step?.id },
        { from: Math.min(from, to), to: Math.max(from, to) },
      ),
    );
  return (
    <>
      <DeploymentHead org={org} deployment={deployment} stage={stage} />
      <Waiting org={org} deployment={deployment} />
      {unreached && (
        <p className="mb-4 rounded-6 bg-amber-soft px-3 py-2 text-amber">
          {unreachedTexts.sentence(unreached.why, unreached.environments.join(", "))}
        </p>
      )}
      <Superseded org={org} deployment={deployment} />
      <Failures org={org} deployment={deployment} />
      {stages.length === 0 && <p className="text-ink2">{texts.notStarted}</p>}
      {stages.length > 0 && <StageGraph org={org} deployment={deployment.id} stages={stages} current={stage?.key} />}
      {!approval && stage && isFrozen(deployment, stage.key) && (
        <Suspense>
          <FreezeOverride org={org} deployment={deployment} stage={stage.key} />
        </Suspense>
      )}
      {approval && (
        <Suspense fallback={<SkeletonRows />}>
          <ApprovalPanel org={org} id={approval} deployment={deployment} />
        </Suspense>
      )}
      <DetailColumns
        main={
          stage && (
            <>
              <StageSteps
                org={org}
                pipeline={deployment.pipeline}
                deployment={deployment.id}
                stage={stage}
                stages={stages}
                current={step?.id}
              />
              {step && (
                <LogView
                  key={step.id}
                  at={{ org, deployment: deployment.id, step: step.id }}
                  name={step.name}
                  isLive={step.status === "running" || step.status === "pending"}
                  marked={parseLines(hash ? `#${hash}` : "")}
                  onMark={mark}
                />
              )}
            </>
          )
        }
        aside={
          <>
            <DeploymentFacts org={org} deployment={deployment} />
            <SecretReads org={org} deployment={deployment} />
          </>
        }
      />
    </>
  );
}
