// Add a member of the organization to a group.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addGroupMember, groupMembersQuery } from "@/api/group";
import { keys } from "@/api/keys";
import { membersQuery } from "@/api/member";
import { serviceAccountsQuery } from "@/api/serviceAccount";
import { ProblemPanel } from "@/features/problem";
import { group as texts } from "@/texts/en/group";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Select } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import type { GroupDialogProps } from "./GroupDialog";

export function AddMemberDialog({ org, group, onClose }: GroupDialogProps) {
  const queries = useQueryClient();
  const [userId, setUserId] = useState("");
  const [isTouched, setTouched] = useState(false);
  const present = useQuery(groupMembersQuery(org, group.id)).data?.data ?? [];
  const people = useQuery(membersQuery(org));
  const accounts = useQuery(serviceAccountsQuery(org));
  const choices = [
    ...(people.data?.data ?? []).map((person) => ({ id: person.userId, label: person.name, name: person.name })),
    ...(accounts.data?.data ?? []).map(({ id, name }) => ({ id, label: texts.program(name), name })),
  ].filter(({ id }) => !present.some((member) => member.userId === id));
  const add = useMutation({
    mutationFn: () => addGroupMember(org, group.id, userId),
    onSuccess: ({ name }) => {
      onClose();
      showToast({ title: texts.added(name) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.groups(org) }),
  });
  return (
    <Dialog open onClose={onClose} title={texts.add}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (userId !== "" && !add.isPending) add.mutate();
        }}
      >
        <Select
          label={texts.addLabel}
          error={isTouched && userId === "" ? texts.chooseRequired : undefined}
          value={userId}
          onChange={(event) => setUserId(event.target.value)}
        >
          <option value="">{texts.choose}</option>
          {choices.map(({ id, label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </Select>
        {people.error && <ProblemPanel error={people.error} onRetry={() => void people.refetch()} />}
        {add.error && <ProblemPanel error={add.error} />}
        <Button type="submit" look="primary" busy={add.isPending} className="self-start max-md:w-full">
          {texts.add}
        </Button>
      </form>
    </Dialog>
  );
}
