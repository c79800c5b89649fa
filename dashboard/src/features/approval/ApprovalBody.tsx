// One approval: what exactly runs, who has voted, who may, until when, and the buttons. Shown on its own page and on
// the page of its deployment.
import { useQuery } from "@tanstack/react-query";
import { approvalsQuery } from "@/api/approval";
import type { ApprovalDetails, Deployment, Me } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { approval as texts } from "@/texts/en/approval";
import { duration } from "@/texts/en/time";
import { Countdown } from "@/ui/Countdown";
import { Changes } from "./Changes";
import { standingOf } from "./standing";
import { Subject } from "./Subject";
import { VoteActions } from "./VoteActions";
import { Votes } from "./Votes";

const MAX_LISTED = 100;

type Props = { org: string; approval: ApprovalDetails; deployment: Deployment; me: Me };

export function ApprovalBody({ org, approval, deployment, me }: Props) {
  const isPending = approval.status === "pending";
  const { pipelineId, environment } = approval;
  const mine = useQuery({
    ...approvalsQuery(org, { mine: true, pipelineId, environment: environment ?? undefined }, 0, MAX_LISTED),
    enabled: isPending,
  });
  const isMine = mine.data?.data.some(({ id }) => id === approval.id);
  const standing = standingOf(approval, me.userId, isMine, deployment);
  return (
    <div className="flex flex-col gap-6">
      {approval.message && <p className="max-w-prose wrap-anywhere">“{approval.message}”</p>}
      {approval.overridden && (
        <p className="rounded-6 bg-red-soft px-3 py-2 wrap-anywhere text-red">
          {texts.overriddenBy(approval.overridden.by.name)} “{approval.overridden.reason}”
        </p>
      )}
      {!isPending && !approval.overridden && <p className="text-ink2">{texts.ended[approval.status]}</p>}
      <div className="grid gap-6 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="flex min-w-0 flex-col gap-6">
          <Subject approval={approval} />
          <Changes org={org} approval={approval} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Votes org={org} approval={approval} userId={me.userId} />
          {isPending && <Expiry expiresAt={approval.expiresAt} />}
        </div>
      </div>
      <VoteActions org={org} approval={approval} deployment={deployment} me={me} standing={standing} />
    </div>
  );
}

function Expiry({ expiresAt }: { expiresAt: string }) {
  const until = timeOf(expiresAt);
  if (until === undefined) return null;
  return (
    <p className="text-13 text-ink2 tabular-nums">
      <Countdown until={until}>{(left) => texts.expiresIn(duration(left))}</Countdown>
    </p>
  );
}
