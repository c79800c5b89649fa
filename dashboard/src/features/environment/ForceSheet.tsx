// The form of a force claim. It lists the session and deployment that end, and requires a reason for the holder.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { forceClaim } from "@/api/session";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { environment as texts } from "@/texts/en/environment";
import { clock } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { Sheet } from "@/ui/Dialog";
import { TextArea } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import type { DialogProps } from "./BoardDialog";

export function ForceSheet({ org, pipeline, environment, onDone, onClose }: DialogProps) {
  const { envName, lock } = environment;
  const [reason, setReason] = useState("");
  const [isTouched, setTouched] = useState(false);
  const force = useMutation({
    mutationFn: () => forceClaim({ org, pipeline, env: envName }, { context: reason.trim() }),
    onSuccess: (session) => {
      onDone(session);
      onClose();
      showToast({ title: texts.claimed(envName) });
    },
  });
  const since = timeOf(lock.claimedAt);
  const sinceText = since === undefined ? "" : clock(since, Date.now());
  return (
    <Sheet
      open
      danger
      onClose={onClose}
      title={texts.forceTitle(envName)}
      description={texts.forceText(lock.holder?.name ?? "", envName, sinceText, lock.context)}
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (reason.trim() !== "" && !force.isPending) force.mutate();
        }}
      >
        <TextArea
          label={texts.forceReason}
          maxLength={500}
          error={isTouched && reason.trim() === "" ? texts.forceReasonRequired : undefined}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        {force.error && <ProblemPanel error={force.error} />}
        <Button type="submit" look="danger" busy={force.isPending} className="self-start max-md:w-full">
          {texts.forceTitle(envName)}
        </Button>
      </form>
    </Sheet>
  );
}
