// The dialogs of an environment: hold it, end the hold, roll back.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { endHold, type LastingRef } from "@/api/lasting";
import type { EnvironmentDeployment, LastingEnvironment } from "@/api/types";
import { showProblem } from "@/features/problem";
import { hold as texts } from "@/texts/en/lasting";
import { Confirm } from "@/ui/Confirm";
import { showToast } from "@/ui/toasts";
import { HoldDialog } from "./HoldDialog";
import { RollBackDialog } from "./RollBackDialog";

export type OpenDialog = { kind: "hold" | "end" } | { kind: "rollBack"; entry: EnvironmentDeployment };

type Props = {
  at: LastingRef;
  hold: NonNullable<LastingEnvironment["hold"]> | undefined;
  now: number;
  onClose: () => void;
};

export function LastingDialog({ open, ...rest }: Props & { open: OpenDialog }) {
  switch (open.kind) {
    case "hold":
      return <HoldDialog {...rest} />;
    case "end":
      return <EndDialog {...rest} />;
    case "rollBack":
      return <RollBackDialog at={rest.at} entry={open.entry} onClose={rest.onClose} />;
  }
}

function EndDialog({ at, hold, onClose }: Props) {
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => endHold(at),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.ended(at.name) });
    },
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.lasting(at.org) }),
  });
  return (
    <Confirm
      title={texts.endTitle(at.name, hold?.by.name ?? "")}
      text={texts.endText(hold?.reason ?? "")}
      action={texts.end}
      busy={end.isPending}
      onConfirm={() => end.mutate()}
      onClose={onClose}
    />
  );
}
