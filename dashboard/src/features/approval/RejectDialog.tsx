// Reject what a stage will do, with a reason.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { reject } from "@/api/approval";
import type { ApprovalDetails } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { approval as texts } from "@/texts/en/approval";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { TextArea } from "@/ui/Field";
import { showToast } from "@/ui/toasts";

type Props = { org: string; approval: ApprovalDetails; onDone: () => void; onClose: () => void };

export function RejectDialog({ org, approval, onDone, onClose }: Props) {
  const { id, stage } = approval;
  // The digest of what was on the page when the dialog was opened.
  const [subjectDigest] = useState(approval.subjectDigest);
  const [comment, setComment] = useState("");
  const [isTouched, setTouched] = useState(false);
  const isMissing = comment.trim() === "";
  const send = useMutation({
    mutationFn: () => reject(org, id, { subjectDigest, comment: comment.trim() }),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.rejectedToast(stage) });
    },
    onSettled: onDone,
  });
  return (
    <Dialog open danger onClose={onClose} title={texts.rejectTitle(stage)} description={texts.rejectText}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (!isMissing && !send.isPending) send.mutate();
        }}
      >
        <TextArea
          label={texts.rejectReason}
          maxLength={500}
          error={isTouched && isMissing ? texts.rejectReasonRequired : undefined}
          value={comment}
          onChange={(event) => setComment(event.target.value)}
        />
        {send.error && <ProblemPanel error={send.error} />}
        <Button type="submit" look="danger" busy={send.isPending} className="self-start max-md:w-full">
          {texts.reject}
        </Button>
      </form>
    </Dialog>
  );
}
