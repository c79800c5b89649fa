// Override the gates of a stage, as an admin, with a reason that stays on the stage.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Gate, overrideGates } from "@/api/approval";
import { ProblemPanel } from "@/features/problem";
import { override as texts } from "@/texts/en/approval";
import { Button } from "@/ui/Button";
import { Sheet } from "@/ui/Dialog";
import { TextArea } from "@/ui/Field";
import { Ticks } from "@/ui/Ticks";
import { showToast } from "@/ui/toasts";

type Props = {
  org: string;
  deployment: string;
  stage: string;
  /** The gates that the stage waits for. */
  gates: readonly Gate[];
  onDone: () => void;
  onClose: () => void;
};

export function OverrideDialog({ org, deployment, stage, gates, onDone, onClose }: Props) {
  const [chosen, setChosen] = useState<Gate[]>([...gates]);
  const [reason, setReason] = useState("");
  const [isTouched, setTouched] = useState(false);
  const isMissing = reason.trim() === "";
  const send = useMutation({
    mutationFn: () => overrideGates(org, deployment, stage, { reason: reason.trim(), gates: chosen }),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.done(stage) });
    },
    onSettled: onDone,
  });
  return (
    <Sheet open danger onClose={onClose} title={texts.title(stage)} description={texts.text}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (!isMissing && chosen.length > 0 && !send.isPending) send.mutate();
        }}
      >
        <Ticks
          legend={texts.gates}
          error={isTouched && chosen.length === 0 ? texts.gateRequired : undefined}
          ticks={gates.map((gate) => ({ value: gate, label: texts.gateNames[gate] }))}
          values={chosen}
          onChange={setChosen}
        />
        <TextArea
          label={texts.reason}
          maxLength={500}
          error={isTouched && isMissing ? texts.reasonRequired : undefined}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        {send.error && <ProblemPanel error={send.error} />}
        <Button type="submit" look="danger" busy={send.isPending} className="self-start max-md:w-full">
          {texts.action}
        </Button>
      </form>
    </Sheet>
  );
}
