// Grant a group or a user a role on the pipeline. It replaces an earlier grant of the same one.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type GrantedRole, setGrant } from "@/api/grant";
import { groupsQuery } from "@/api/group";
import { keys } from "@/api/keys";
import { membersQuery } from "@/api/member";
import { serviceAccountsQuery } from "@/api/serviceAccount";
import { ProblemPanel } from "@/features/problem";
import { grant as texts } from "@/texts/en/grant";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Select } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import { granteeOf, parseValue, valueOf } from "./grantee";

const ROLES: readonly GrantedRole[] = ["developer", "maintainer"];

type Props = { org: string; pipeline: string; onClose: () => void };

export function NewGrantDialog({ org, pipeline, onClose }: Props) {
  const queries = useQueryClient();
  const [value, setValue] = useState("");
  const [role, setRole] = useState<GrantedRole>("developer");
  const [isTouched, setTouched] = useState(false);
  const groups = useQuery(groupsQuery(org)).data?.data ?? [];
  const people = useQuery(membersQuery(org)).data?.data ?? [];
  const programs = useQuery(serviceAccountsQuery(org)).data?.data ?? [];
  const grantee = parseValue(value);
  const create = useMutation({
    mutationFn: (to: NonNullable<typeof grantee>) => setGrant(org, pipeline, to, role),
    onSuccess: (grant) => {
      onClose();
      showToast({ title: texts.granted(granteeOf(grant).name) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.grants(org) }),
  });
  const options: [label: string, list: { value: string; name: string }[]][] = [
    [texts.groups, groups.map(({ id, name }) => ({ value: valueOf({ kind: "group", id }), name }))],
    [texts.people, people.map(({ userId: id, name }) => ({ value: valueOf({ kind: "user", id }), name }))],
    [texts.programs, programs.map(({ id, name }) => ({ value: valueOf({ kind: "user", id }), name }))],
  ];
  return (
    <Dialog open onClose={onClose} title={texts.create} description={texts.createText}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (grantee && !create.isPending) create.mutate(grantee);
        }}
      >
        <Select
          label={texts.to}
          error={isTouched && !grantee ? texts.chooseRequired : undefined}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        >
          <option value="">{texts.choose}</option>
          {options.map(
            ([label, list]) =>
              list.length > 0 && (
                <optgroup key={label} label={label}>
                  {list.map((option) => (
                    <option key={option.value} value={option.value}>
                      {option.name}
                    </option>
                  ))}
                </optgroup>
              ),
          )}
        </Select>
        <Select label={texts.role} value={role} onChange={(event) => setRole(event.target.value as GrantedRole)}>
          {ROLES.map((known) => (
            <option key={known} value={known}>
              {texts.roles[known]}
            </option>
          ))}
        </Select>
        {create.error && <ProblemPanel error={create.error} />}
        <Button type="submit" look="primary" busy={create.isPending} className="self-start max-md:w-full">
          {texts.create}
        </Button>
      </form>
    </Dialog>
  );
}
