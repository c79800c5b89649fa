// Somebody asks for the environment: accept or decline, and what happens without an answer.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { acceptHandover, declineHandover, type SessionRef } from "@/api/session";
import type { Session } from "@/api/types";
import { showProblem } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";
import { session as texts } from "@/texts/en/session";
import { Button } from "@/ui/Button";
import { Bar } from "@/ui/Lamp";
import { showToast } from "@/ui/toasts";

type Props = { at: SessionRef; handover: NonNullable<Session["handover"]> };

export function HandoverBar({ at, handover }: Props) {
  const now = useNow("half-minute");
  const queries = useQueryClient();
  const onSettled = () => {
    void queries.invalidateQueries({ queryKey: keys.mySessions(at.org) });
    void queries.invalidateQueries({ queryKey: keys.session(at.org, at.session) });
  };
  const accept = useMutation({
    mutationFn: () => acceptHandover(at),
    onSuccess: () => showToast({ title: texts.accepted }),
    onError: showProblem,
    onSettled,
  });
  const decline = useMutation({
    mutationFn: () => declineHandover(at),
    onSuccess: () => showToast({ title: texts.declined }),
    onError: showProblem,
    onSettled,
  });
  const who = handover.requestedBy.name;
  const due = timeOf(handover.dueAt);
  const text =
    handover.onSilence === "accept" && due !== undefined
      ? texts.askedAccept(who, at.env, handover.context, due, now)
      : texts.askedLapse(who, at.env, handover.context);
  return (
    <Bar tone="violet">
      <p className="min-w-0 flex-1 max-md:basis-full">{text}</p>
      <div className="flex gap-2 max-md:w-full max-md:*:flex-1">
        <Button busy={accept.isPending} onClick={() => accept.mutate()}>
          {texts.accept}
        </Button>
        <Button look="primary" busy={decline.isPending} onClick={() => decline.mutate()}>
          {texts.decline}
        </Button>
      </div>
    </Bar>
  );
}
