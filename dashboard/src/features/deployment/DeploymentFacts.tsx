// Facts about a deployment.
import type { Deployment } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { shortId } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { reasonWords } from "@/texts/en/deployment";
import { deployment as texts, deployments } from "@/texts/en/deployments";
import { clock } from "@/texts/en/time";
import { Link } from "@/ui/Link";
import { Facts } from "@/ui/Table";
import { actorsOf } from "./actors";

export function DeploymentFacts({ org, deployment }: { org: string; deployment: Deployment }) {
  const { pipeline, envName, sessionId, createdBy, onBehalfOf, commitId, branch, purpose, reason, detail } = deployment;
  const facts = [
    { name: deployments.by, value: onBehalfOf ? texts.byFor(createdBy.name, onBehalfOf.name) : createdBy.name },
    ...actorsOf(deployment).map(({ name, who }) => ({ name, value: who })),
    {
      name: deployments.pipeline,
      value: (
        <Link to={paths.pipeline(org, pipeline)} className="underline">
          {pipeline}
        </Link>
      ),
    },
    { name: deployments.commit, value: <code className="text-12 break-all">{commitId}</code> },
    branch && { name: texts.branch, value: <code className="text-12">{branch}</code> },
    envName && {
      name: deployments.environment,
      value: (
        <Link to={paths.environment({ org, pipeline, env: envName })} className="underline">
          {envName}
        </Link>
      ),
    },
    envName &&
      sessionId && {
        name: texts.session,
        value: (
          <Link to={paths.session({ org, pipeline, env: envName }, sessionId)} className="underline">
            {shortId(sessionId)}
          </Link>
        ),
      },
    { name: texts.purpose, value: texts.purposes[purpose] ?? purpose },
    { name: texts.started, value: timeText(deployment.startedAt) },
    { name: texts.ended, value: timeText(deployment.endedAt) },
    reason && { name: texts.reason, value: detail ?? reasonWords[reason] ?? reason },
  ];
  return (
    <section aria-label={texts.facts} className="door border border-line bg-surface p-4">
      <Facts facts={facts.filter((fact) => typeof fact === "object" && fact !== null)} />
    </section>
  );
}

function timeText(value: string | null | undefined): string {
  const time = timeOf(value);
  return time === undefined ? "–" : clock(time, Date.now());
}
