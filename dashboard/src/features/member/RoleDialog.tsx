// Change the role of a member. A role below developer ends sessions, which are shown before.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { endingsQuery, updateMember } from "@/api/member";
import type { Member } from "@/api/types";
import { Endings, whyNotYet } from "@/features/ending";
import { grantableBy, hasRole } from "@/lib/roles";
import { member as texts } from "@/texts/en/member";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import { RoleSelect } from "./AddDialog";
import { type MemberDialogProps, MemberProblem } from "./MemberDialog";

export function RoleDialog({ org, me, member, onDone, onClose }: MemberDialogProps & { member: Member }) {
  const [role, setRole] = useState(member.role);
  const endsSessions = hasRole(member.role, "developer") && !hasRole(role, "developer");
  const endings = useQuery({ ...endingsQuery(org, member.userId, role), enabled: endsSessions });
  const save = useMutation({
    mutationFn: () => updateMember(org, member.userId, { role }),
    onSuccess: () => {
      onDone();
      onClose();
      showToast({ title: texts.changed(member.name) });
    },
  });
  const isWaiting = endsSessions && endings.isPending;
  return (
    <Dialog open onClose={onClose} title={texts.changeRoleOf(member.name)}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (role === member.role) onClose();
          else if (!isWaiting && !save.isPending) save.mutate();
        }}
      >
        <RoleSelect roles={grantableBy(me.role)} role={role} onChange={setRole} />
        {endsSessions && (endings.error ? <MemberProblem error={endings.error} /> : <Endings endings={endings} />)}
        {save.error && <MemberProblem error={save.error} />}
        <Button
          type="submit"
          look="primary"
          busy={save.isPending}
          why={endsSessions ? whyNotYet(endings) : undefined}
          className="self-start max-md:w-full"
        >
          {texts.save}
        </Button>
      </form>
    </Dialog>
  );
}
