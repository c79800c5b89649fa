// Remove a member. It shows which sessions end.
import { useMutation, useQuery } from "@tanstack/react-query";
import { endingsQuery, removeMember } from "@/api/member";
import type { Member } from "@/api/types";
import { Endings, whyNotYet } from "@/features/ending";
import { member as texts } from "@/texts/en/member";
import { Confirm } from "@/ui/Confirm";
import { showToast } from "@/ui/toasts";
import { type MemberDialogProps, MemberProblem } from "./MemberDialog";

export function RemoveDialog({ org, member, onDone, onClose }: MemberDialogProps & { member: Member }) {
  const endings = useQuery(endingsQuery(org, member.userId));
  const remove = useMutation({
    mutationFn: () => removeMember(org, member.userId),
    onSuccess: () => {
      onDone();
      onClose();
      showToast({ title: texts.removed(member.name) });
    },
  });
  return (
    <Confirm
      title={texts.removeTitle(member.name)}
      text={texts.removeText}
      action={texts.remove}
      busy={remove.isPending}
      why={whyNotYet(endings)}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      {endings.error ? <MemberProblem error={endings.error} /> : <Endings endings={endings} />}
      {remove.error && <MemberProblem error={remove.error} />}
    </Confirm>
  );
}
