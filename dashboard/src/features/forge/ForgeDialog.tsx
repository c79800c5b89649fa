// The dialogs of forges: connect, change, remove.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { deleteForge, forgeQuery } from "@/api/forge";
import { keys } from "@/api/keys";
import type { Forge } from "@/api/types";
import { ProblemPanel, showProblem } from "@/features/problem";
import { forge as texts } from "@/texts/en/forge";
import { Confirm } from "@/ui/Confirm";
import { Dialog } from "@/ui/Dialog";
import { SkeletonRows } from "@/ui/Skeleton";
import { showToast } from "@/ui/toasts";
import { ForgeForm } from "./ForgeForm";

export type OpenForge = { kind: "create" } | { kind: "edit"; forge: Forge } | { kind: "remove"; forge: Forge };

type Props = { org: string; open: OpenForge; onClose: () => void };

export function ForgeDialog({ org, open, onClose }: Props) {
  switch (open.kind) {
    case "create":
      return (
        <Dialog open onClose={onClose} title={texts.create}>
          <ForgeForm org={org} onDone={onClose} />
        </Dialog>
      );
    case "edit":
      return <EditDialog org={org} forge={open.forge} onClose={onClose} />;
    case "remove":
      return <RemoveDialog org={org} forge={open.forge} onClose={onClose} />;
  }
}

type ForgeProps = { org: string; forge: Forge; onClose: () => void };

/** The list has no ETag, so the forge is read when the dialog opens. */
function EditDialog({ org, forge, onClose }: ForgeProps) {
  const record = useQuery({ ...forgeQuery(org, forge.name), gcTime: 0, refetchOnMount: "always" });
  return (
    <Dialog open onClose={onClose} title={texts.editTitle(forge.name)}>
      {record.error && !record.data && <ProblemPanel error={record.error} onRetry={() => void record.refetch()} />}
      {record.isPending && <SkeletonRows />}
      {record.data && <ForgeForm org={org} forge={record.data} onDone={onClose} />}
    </Dialog>
  );
}

function RemoveDialog({ org, forge, onClose }: ForgeProps) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteForge(org, forge.name),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.removed(forge.name) });
    },
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.forges(org) }),
  });
  return (
    <Confirm
      title={texts.removeTitle(forge.name)}
      text={texts.removeText}
      action={texts.remove}
      busy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    />
  );
}
