// Give up a clean-up that failed. The reason is recorded.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type EnvironmentRef, giveUpCleanup } from "@/api/environment";
import { ProblemPanel } from "@/features/problem";
import { cleanup as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { TextArea } from "@/ui/Field";
import { showToast } from "@/ui/toasts";

type Props = { at: EnvironmentRef; onSettled: () => void; onClose: () => void };

export function GiveUpDialog({ at, onSettled, onClose }: Props) {
  const [reason, setReason] = useState("");
  const [isTouched, setTouched] = useState(false);
  const giveUp = useMutation({
    mutationFn: () => giveUpCleanup(at, reason.trim()),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.gaveUp(at.env) });
    },
    onSettled,
  });
  return (
    <Dialog open danger onClose={onClose} title={texts.giveUpTitle(at.env)} description={texts.giveUpText}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (reason.trim() !== "" && !giveUp.isPending) giveUp.mutate();
        }}
      >
        <TextArea
          label={texts.reason}
          maxLength={500}
          error={isTouched && reason.trim() === "" ? texts.reasonRequired : undefined}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        {giveUp.error && <ProblemPanel error={giveUp.error} />}
        <Button type="submit" look="danger" busy={giveUp.isPending} className="self-start max-md:w-full">
          {texts.giveUp}
        </Button>
      </form>
    </Dialog>
  );
}
