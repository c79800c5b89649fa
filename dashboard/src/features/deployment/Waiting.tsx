// What a deployment waits for, one sentence each, and until when.
import type { Deployment, WaitingOn } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { waitingSentence } from "@/texts/en/deployment";
import { deployment as texts } from "@/texts/en/deployments";
import { clock } from "@/texts/en/time";
import { Link } from "@/ui/Link";

export function Waiting({ org, deployment }: { org: string; deployment: Deployment }) {
  const now = useNow("half-minute");
  const deadline = timeOf(deployment.deadlineAt);
  if (deployment.waitingOn.length === 0) return null;
  return (
    <ul className="mb-4 rounded-6 bg-amber-soft px-3 py-2 text-amber">
      {deployment.waitingOn.map((waiting, index) => (
        <li key={`${waiting.kind}-${index}`}>
          {waitingSentence(waiting, now)} <Target org={org} deployment={deployment} waiting={waiting} />
          {deadline !== undefined && index === 0 && (
            <span className="ml-2 font-mono text-12">{texts.deadline(clock(deadline, now))}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Where to see what it waits for. */
function Target({ org, deployment, waiting }: { org: string; deployment: Deployment; waiting: WaitingOn }) {
  const { id, pipeline } = deployment;
  switch (waiting.kind) {
    case "work_slot":
      return (
        <Link to={paths.deployment(org, waiting.deploymentId)} className="underline">
          {texts.showOther}
        </Link>
      );
    case "approval":
      return (
        <Link to={paths.deployment(org, id, { stage: waiting.stage })} className="underline">
          {texts.showApproval}
        </Link>
      );
    case "hold":
      return (
        <Link to={paths.lastingEnvironment({ org, pipeline, name: waiting.environment })} className="underline">
          {texts.showEnvironment(waiting.environment)}
        </Link>
      );
    case "freeze":
      return (
        <Link to={paths.freezes(org)} className="underline">
          {texts.showFreezes}
        </Link>
      );
    case "pipeline_stopped":
    case "pipeline_archived":
      return (
        <Link to={paths.pipeline(org, pipeline)} className="underline">
          {texts.showPipeline}
        </Link>
      );
    case "runner":
      return (
        <Link to={paths.runners(org)} className="underline">
          {texts.showRunners}
        </Link>
      );
    case "running_steps":
    case "retry":
      return (
        <Link to={paths.deployment(org, id, { stage: waiting.stage })} className="underline">
          {texts.showStage(waiting.stage)}
        </Link>
      );
    default:
      return null;
  }
}
