// The dialogs of a group: add and remove members, change it, delete it.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { deleteGroup, groupEndingsQuery, type GroupRecord, removeGroupMember } from "@/api/group";
import { keys } from "@/api/keys";
import type { GroupMember } from "@/api/types";
import { Endings, whyNotYet } from "@/features/ending";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { group as texts } from "@/texts/en/group";
import { Confirm } from "@/ui/Confirm";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import { AddMemberDialog } from "./AddMemberDialog";
import { GroupForm } from "./GroupForm";

export type OpenGroup =
  | { kind: "add" | "edit" }
  | { kind: "delete"; members: number }
  | { kind: "remove"; member: GroupMember };

export type GroupDialogProps = { org: string; group: GroupRecord; onClose: () => void };

export function GroupDialog({ open, ...rest }: GroupDialogProps & { open: OpenGroup }) {
  const { org, group, onClose } = rest;
  switch (open.kind) {
    case "add":
      return <AddMemberDialog {...rest} />;
    case "edit":
      return (
        <Dialog open onClose={onClose} title={texts.editTitle(group.name)}>
          <GroupForm
            org={org}
            group={group}
            onDone={({ name }) => {
              onClose();
              showToast({ title: texts.saved(name) });
            }}
          />
        </Dialog>
      );
    case "delete":
      return <DeleteDialog {...rest} members={open.members} />;
    case "remove":
      return <RemoveDialog {...rest} member={open.member} />;
  }
}

function RemoveDialog({ org, group, member, onClose }: GroupDialogProps & { member: GroupMember }) {
  const queries = useQueryClient();
  const endings = useQuery(groupEndingsQuery(org, group.id, member.userId));
  const remove = useMutation({
    mutationFn: () => removeGroupMember(org, group.id, member.userId),
    onSuccess: () => {
      onClose();
      showToast({ title: texts.removed(member.name) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.groups(org) }),
  });
  return (
    <Confirm
      title={texts.removeTitle(member.name, group.name)}
      text={texts.removeText}
      action={texts.remove}
      busy={remove.isPending}
      why={whyNotYet(endings)}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Endings endings={endings} />
      {remove.error && <ProblemPanel error={remove.error} />}
    </Confirm>
  );
}

function DeleteDialog({ org, group, members, onClose }: GroupDialogProps & { members: number }) {
  const queries = useQueryClient();
  const router = useRouter();
  const endings = useQuery(groupEndingsQuery(org, group.id));
  const remove = useMutation({
    mutationFn: () => deleteGroup(org, group.id),
    onSuccess: () => {
      showToast({ title: texts.deleted(group.name) });
      router.history.push(paths.groups(org));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.groups(org) }),
  });
  return (
    <Confirm
      title={texts.deleteTitle(group.name)}
      text={texts.deleteText(members)}
      action={texts.delete}
      busy={remove.isPending}
      why={whyNotYet(endings)}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Endings endings={endings} names />
      {remove.error && <ProblemPanel error={remove.error} />}
    </Confirm>
  );
}
