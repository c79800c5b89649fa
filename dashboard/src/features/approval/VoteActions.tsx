// Approve, reject, withdraw; or why this person does not decide.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { approve, withdrawVote } from "@/api/approval";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import type { ApprovalDetails, Deployment, Me } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { shortCommit } from "@/lib/ids";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { approval as texts, override } from "@/texts/en/approval";
import { Button } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import { ApproveButton } from "./ApproveButton";
import { gatesOf, type Standing } from "./standing";

const RejectDialog = lazily(() => import("./RejectDialog"), "RejectDialog");
const OverrideDialog = lazily(() => import("./OverrideDialog"), "OverrideDialog");

type Props = { org: string; approval: ApprovalDetails; deployment: Deployment; me: Me; standing: Standing };

export function VoteActions({ org, approval, deployment, me, standing }: Props) {
  const { id, subjectDigest, subject } = approval;
  const queries = useQueryClient();
  const [comment, setComment] = useState("");
  const [open, setOpen] = useState<"reject" | "override" | undefined>();
  const onSettled = () => {
    void queries.invalidateQueries({ queryKey: keys.approvals(org) });
    void queries.invalidateQueries({ queryKey: keys.deployment(org, deployment.id) });
  };
  const yes = useMutation({
    mutationFn: () => approve(org, id, { subjectDigest, comment: comment.trim() || undefined }),
    onSuccess: () => {
      setComment("");
      showToast({ title: texts.approvedToast });
    },
    onSettled,
  });
  const back = useMutation({
    mutationFn: () => withdrawVote(org, id),
    onSuccess: () => showToast({ title: texts.withdrawnToast }),
    onSettled,
  });
  if (standing.kind === "decided") return null;
  const error = yes.error ?? back.error;
  const isChanged = error instanceof Problem && error.code === "approval_changed";
  const gates = gatesOf(deployment, approval.stage);
  const isVoter = standing.kind === "may" || standing.kind === "voted";
  const why = whyNot(standing);
  return (
    <div className="flex flex-col gap-3">
      {isChanged && <p className="rounded-6 bg-amber-soft px-3 py-2 font-strong text-amber">{texts.changed}</p>}
      {error && !isChanged && <ProblemPanel error={error} />}
      {why && <p className="font-strong">{why}</p>}
      {standing.kind === "may" && (
        <Field
          label={texts.comment}
          maxLength={500}
          value={comment}
          onChange={(event) => setComment(event.target.value)}
        />
      )}
      <div className="flex flex-wrap gap-2 max-md:flex-col max-md:[&>button]:min-h-11 max-md:[&>button]:w-full">
        {standing.kind === "voted" ? (
          <Button busy={back.isPending} onClick={() => back.mutate()}>
            {texts.withdraw}
          </Button>
        ) : (
          <ApproveButton
            key={subjectDigest}
            commit={shortCommit(subject.commitId)}
            why={why}
            busy={yes.isPending}
            onApprove={() => yes.mutate()}
          />
        )}
        <Button why={isVoter ? undefined : why} onClick={() => setOpen("reject")}>
          {texts.reject}
        </Button>
        {hasRole(me.role, "admin") && gates.length > 0 && (
          <Button look="quiet" className="md:ml-auto" onClick={() => setOpen("override")}>
            {override.action}
          </Button>
        )}
      </div>
      <Suspense>
        {open === "reject" && (
          <RejectDialog org={org} approval={approval} onDone={onSettled} onClose={() => setOpen(undefined)} />
        )}
        {open === "override" && (
          <OverrideDialog
            org={org}
            deployment={deployment.id}
            stage={approval.stage}
            gates={gates}
            onDone={onSettled}
            onClose={() => setOpen(undefined)}
          />
        )}
      </Suspense>
    </div>
  );
}

function whyNot(standing: Standing): string | undefined {
  switch (standing.kind) {
    case "own":
      return texts.standing.own[standing.because];
    case "other":
      return texts.standing.other;
    case "voted":
      return texts.standing.voted[standing.decision];
    default:
      return undefined;
  }
}
