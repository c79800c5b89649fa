// The page of one approval.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { approvalQuery } from "@/api/approval";
import { deploymentQuery } from "@/api/deployment";
import { meQuery } from "@/api/me";
import type { ApprovalDetails, Deployment } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { useFavicon, useTitle } from "@/lib/favicon";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { approval as texts, approvals } from "@/texts/en/approval";
import { deployment as deploymentTexts, deployments } from "@/texts/en/deployments";
import { clock } from "@/texts/en/time";
import { Badge } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { DetailColumns, PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { approvalState } from "@/ui/state";
import { Facts } from "@/ui/Table";
import { ApprovalBody } from "./ApprovalBody";

const ROUTE = "/o/$org/approvals/$id";

export function ApprovalPage(): ReactNode {
  const { org, id } = useParams({ from: ROUTE });
  const me = useQuery(meQuery(org)).data;
  const approval = useQuery(approvalQuery(org, id));
  const deploymentId = approval.data?.deploymentId;
  const deployment = useQuery({
    ...deploymentQuery(org, deploymentId ?? ""),
    enabled: deploymentId !== undefined,
  });
  useTitle(approval.data ? texts.title(approval.data.stage) : approvals.title, org);
  useFavicon(approval.data?.status === "pending" ? "waiting" : "idle");
  const failed = [approval, deployment].find(({ error, data }) => error && !data);
  if (failed) return <ProblemPanel error={failed.error} onRetry={() => void failed.refetch()} />;
  if (!approval.data || !deployment.data || !me) return <SkeletonRows />;
  return (
    <>
      <PageHead
        title={texts.title(approval.data.stage)}
        badge={
          <span className="self-center">
            <Badge state={approvalState(approval.data.status)} />
          </span>
        }
      />
      <DetailColumns
        main={
          <>
            <h2 className="sr-only">{texts.details}</h2>
            <ApprovalBody org={org} approval={approval.data} deployment={deployment.data} me={me} />
          </>
        }
        aside={<ApprovalFacts org={org} approval={approval.data} deployment={deployment.data} />}
      />
    </>
  );
}

function ApprovalFacts({
  org,
  approval,
  deployment,
}: {
  org: string;
  approval: ApprovalDetails;
  deployment: Deployment;
}) {
  const now = useNow("half-minute");
  const time = (name: string, value: string | null | undefined) => {
    const at = timeOf(value);
    return at !== undefined && { name, value: clock(at, now) };
  };
  const facts = [
    {
      name: texts.deployment,
      value: (
        <Link to={paths.deployment(org, deployment.id, { stage: approval.stage })} className="underline">
          {deployments.commit} {shortCommit(deployment.commitId)}
        </Link>
      ),
    },
    {
      name: deployments.pipeline,
      value: (
        <Link to={paths.pipeline(org, deployment.pipeline)} className="underline">
          {deployment.pipeline}
        </Link>
      ),
    },
    { name: texts.startedBy, value: starterOf(deployment) },
    time(texts.requested, approval.createdAt),
    approval.status === "pending" && time(texts.expires, approval.expiresAt),
    time(texts.decided, approval.decidedAt),
    time(texts.validUntil, approval.validUntil),
  ];
  return (
    <section aria-label={texts.facts} className="door border border-line bg-surface p-4">
      <Facts facts={facts.filter((fact) => typeof fact === "object")} />
    </section>
  );
}

function starterOf({ createdBy, onBehalfOf }: Deployment): string {
  return onBehalfOf ? deploymentTexts.byFor(createdBy.name, onBehalfOf.name) : createdBy.name;
}
