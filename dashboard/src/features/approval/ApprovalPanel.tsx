// An approval in place: on the page of the deployment whose stage waits for it.
import { useQuery } from "@tanstack/react-query";
import { approvalQuery } from "@/api/approval";
import { meQuery } from "@/api/me";
import type { Deployment } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { approval as texts } from "@/texts/en/approval";
import { Badge } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { SkeletonRows } from "@/ui/Skeleton";
import { approvalState } from "@/ui/state";
import { ApprovalBody } from "./ApprovalBody";

type Props = { org: string; id: string; deployment: Deployment };

export function ApprovalPanel({ org, id, deployment }: Props) {
  const approval = useQuery(approvalQuery(org, id));
  const me = useQuery(meQuery(org)).data;
  if (approval.error && !approval.data)
    return <ProblemPanel error={approval.error} onRetry={() => void approval.refetch()} />;
  if (!approval.data || !me) return <SkeletonRows />;
  return (
    <section
      aria-label={texts.needs(approval.data.stage)}
      className="door mb-4 border border-control bg-surface p-4 max-md:p-3"
    >
      <div className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 className="text-20">
          <Link to={paths.approval(org, id)} className="hover:underline">
            {texts.needs(approval.data.stage)}
          </Link>
        </h2>
        <Badge state={approvalState(approval.data.status)} />
      </div>
      <ApprovalBody org={org} approval={approval.data} deployment={deployment} me={me} />
    </section>
  );
}
