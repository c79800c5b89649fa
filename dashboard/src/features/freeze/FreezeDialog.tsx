// The dialogs of freezes: create, change, end.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { endFreeze, freezeQuery } from "@/api/freeze";
import { keys } from "@/api/keys";
import type { Freeze } from "@/api/types";
import { ProblemPanel, showProblem } from "@/features/problem";
import { freeze as texts } from "@/texts/en/freeze";
import { Confirm } from "@/ui/Confirm";
import { Dialog } from "@/ui/Dialog";
import { SkeletonRows } from "@/ui/Skeleton";
import type { FreezeState } from "@/ui/state";
import { showToast } from "@/ui/toasts";
import { FreezeForm } from "./FreezeForm";

export type OpenFreeze =
  | { kind: "create" }
  | { kind: "edit"; freeze: Freeze }
  | { kind: "end"; freeze: Freeze; state: FreezeState };

type Props = { org: string; open: OpenFreeze; onClose: () => void };

export function FreezeDialog({ org, open, onClose }: Props) {
  switch (open.kind) {
    case "create":
      return (
        <Dialog open onClose={onClose} title={texts.create}>
          <FreezeForm org={org} onDone={onClose} />
        </Dialog>
      );
    case "edit":
      return <EditDialog org={org} freeze={open.freeze} onClose={onClose} />;
    case "end":
      return <EndDialog org={org} freeze={open.freeze} state={open.state} onClose={onClose} />;
  }
}

/** The list has no ETag, so the freeze is read when the dialog opens. */
function EditDialog({ org, freeze, onClose }: { org: string; freeze: Freeze; onClose: () => void }) {
  const record = useQuery({ ...freezeQuery(org, freeze.id), gcTime: 0, refetchOnMount: "always" });
  return (
    <Dialog open onClose={onClose} title={texts.editTitle(freeze.name)} description={texts.editText}>
      {record.error && !record.data && <ProblemPanel error={record.error} onRetry={() => void record.refetch()} />}
      {record.isPending && <SkeletonRows />}
      {record.data && <FreezeForm org={org} freeze={record.data} onDone={onClose} />}
    </Dialog>
  );
}

type EndProps = { org: string; freeze: Freeze; state: FreezeState; onClose: () => void };

function EndDialog({ org, freeze, state, onClose }: EndProps) {
  const queries = useQueryClient();
  const isOver = state === "over";
  const end = useMutation({
    mutationFn: () => endFreeze(org, freeze.id),
    onSuccess: () => {
      onClose();
      showToast({ title: (isOver ? texts.removed : texts.ended)(freeze.name) });
    },
    onError: showProblem,
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.freezes(org) });
      void queries.invalidateQueries({ queryKey: keys.lasting(org) });
    },
  });
  return (
    <Confirm
      title={(isOver ? texts.removeTitle : texts.endTitle)(freeze.name)}
      text={isOver ? texts.removeText : state === "active" ? texts.endActive : texts.endComing}
      action={isOver ? texts.remove : texts.end}
      busy={end.isPending}
      onConfirm={() => end.mutate()}
      onClose={onClose}
    />
  );
}
