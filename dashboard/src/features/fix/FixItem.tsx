// One fix: its status, what it waits for or why it has ended, its deployments, its environment and its pull request.
import { Suspense, useState } from "react";
import type { Fix, Me } from "@/api/types";
import { shortCommit } from "@/lib/ids";
import { lazily } from "@/lib/lazily";
import { useNow } from "@/lib/ticker";
import { visible } from "@/lib/visible";
import { fix as texts, fixSentence } from "@/texts/en/fix";
import { ago, full } from "@/texts/en/time";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { fixState } from "@/ui/fix";
import { FixFacts } from "./FixFacts";
import { isCancelable, whyNotCancel } from "./rights";

const CancelDialog = lazily(() => import("./CancelDialog"), "CancelDialog");

type Props = { org: string; pipeline: string; fix: Fix; me: Pick<Me, "userId" | "role"> | undefined };

export function FixItem({ org, pipeline, fix, me }: Props) {
  const now = useNow("half-minute");
  const [isCanceling, setCanceling] = useState(false);
  const createdAt = Date.parse(fix.createdAt);
  const commit = shortCommit(fix.commitId);
  return (
    <li className="border-b border-line py-2 last:border-b-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge state={fixState(fix.status)} />
        <code className="min-w-0 text-12 wrap-anywhere">{texts.of(commit, visible(fix.branch))}</code>
        <span className="text-13 wrap-anywhere text-ink2" title={full(createdAt)}>
          {texts.by(fix.requestedBy.name, ago(createdAt, now))}
        </span>
        {isCancelable(fix) && (
          <Button className="ml-auto" why={me && whyNotCancel(fix, me)} onClick={() => setCanceling(true)}>
            {texts.cancel}
            <span className="sr-only"> {commit}</span>
          </Button>
        )}
      </div>
      <p role={fix.endedAt ? undefined : "status"} className="mt-1 max-w-prose">
        {fixSentence(fix, now)} {/* It may contain text of a forge. */}
        {fix.detail && (
          <bdi className="text-13 wrap-anywhere whitespace-pre-wrap text-ink2">({visible(fix.detail)})</bdi>
        )}
      </p>
      <FixFacts org={org} pipeline={pipeline} fix={fix} />
      <Suspense>{isCanceling && <CancelDialog org={org} fix={fix} onClose={() => setCanceling(false)} />}</Suspense>
    </li>
  );
}
