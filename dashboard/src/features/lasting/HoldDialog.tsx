// Hold an environment, change the own hold, or take over that of another user.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { holdEnvironment, type LastingRef } from "@/api/lasting";
import { meQuery } from "@/api/me";
import { Problem } from "@/api/problem";
import type { LastingEnvironment } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { serverNow } from "@/lib/clock";
import { timeOf } from "@/lib/countdown";
import { hold as texts } from "@/texts/en/lasting";
import { clock } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Select, TextArea } from "@/ui/Field";
import { showToast } from "@/ui/toasts";

const HOUR = 3_600_000;
/** The server allows 24 hours; its clock is known to the second only. */
const MARGIN = 5_000;
const HOURS = [1, 2, 4, 8, 24] as const;

type Hours = (typeof HOURS)[number];

type Props = {
  at: LastingRef;
  hold: NonNullable<LastingEnvironment["hold"]> | undefined;
  now: number;
  onClose: () => void;
};

export function HoldDialog({ at, hold: current, now, onClose }: Props) {
  const queries = useQueryClient();
  const userId = useQuery(meQuery(at.org)).data?.userId;
  // As it was when the dialog was opened, so that its texts do not change while the person reads them.
  const [hold] = useState(current);
  const isOwn = hold !== undefined && hold.by.id === userId;
  const isTakeOver = hold !== undefined && !isOwn;
  const [reason, setReason] = useState(isOwn ? hold.reason : "");
  const [hours, setHours] = useState<Hours>(1);
  const [isTouched, setTouched] = useState(false);
  const save = useMutation({
    mutationFn: () => {
      const until = new Date(serverNow() + hours * HOUR - MARGIN).toISOString();
      return holdEnvironment(at, { reason: reason.trim(), until });
    },
    onSuccess: (held) => {
      onClose();
      const until = timeOf(held.hold?.until) ?? now;
      showToast({ title: texts.held(at.name, clock(until, now)) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.lasting(at.org) }),
  });
  const problem = save.error instanceof Problem ? save.error : undefined;
  const isMissing = reason.trim() === "";
  const title = isTakeOver ? texts.takeOverTitle : isOwn ? texts.changeTitle : texts.title;
  return (
    <Dialog
      open
      danger={isTakeOver}
      onClose={onClose}
      title={title(at.name)}
      description={
        isTakeOver ? texts.takeOverText(hold.by.name, hold.reason, timeOf(hold.until) ?? now, now) : texts.text
      }
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (!isMissing && !save.isPending) save.mutate();
        }}
      >
        <TextArea
          label={texts.reason}
          hint={texts.reasonHint}
          maxLength={500}
          error={isTouched && isMissing ? texts.reasonRequired : problem?.field("/reason")}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        <Select
          label={texts.time}
          error={problem?.field("/until")}
          value={hours}
          onChange={(event) => setHours(Number(event.target.value) as Hours)}
        >
          {HOURS.map((value) => (
            <option key={value} value={value}>
              {texts.times[value]}
            </option>
          ))}
        </Select>
        {save.error && <ProblemPanel error={save.error} />}
        <Button
          type="submit"
          look={isTakeOver ? "danger" : "primary"}
          busy={save.isPending}
          className="self-start max-md:w-full"
        >
          {isTakeOver ? texts.takeOver : isOwn ? texts.change : texts.hold}
        </Button>
      </form>
    </Dialog>
  );
}
