// Add a member. A new person then needs a sign-in link, which the next dialog offers.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { addMember } from "@/api/member";
import type { Member, Role } from "@/api/types";
import { grantableBy } from "@/lib/roles";
import { member as texts } from "@/texts/en/member";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Field, Select } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import { type MemberDialogProps, MemberProblem } from "./MemberDialog";

export function AddDialog({ org, me, onDone, onClose, onAdded }: MemberDialogProps & { onAdded: (m: Member) => void }) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("developer");
  const [isTouched, setTouched] = useState(false);
  const add = useMutation({
    mutationFn: () => addMember(org, { name: name.trim(), email: email.trim(), role }),
    onSuccess: (member) => {
      onDone();
      showToast({ title: texts.addedTitle(member.name) });
      onAdded(member);
    },
  });
  const isNameless = name.trim() === "";
  const isNoEmail = !/^\S+@\S+$/.test(email.trim());
  return (
    <Dialog open onClose={onClose} title={texts.add} description={texts.addText}>
      <form
        noValidate
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (!isNameless && !isNoEmail && !add.isPending) add.mutate();
        }}
      >
        <Field
          label={texts.name}
          maxLength={100}
          error={isTouched && isNameless ? texts.nameRequired : undefined}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Field
          label={texts.email}
          type="email"
          autoComplete="off"
          maxLength={254}
          error={isTouched && isNoEmail ? texts.emailInvalid : undefined}
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <RoleSelect roles={grantableBy(me.role)} role={role} onChange={setRole} />
        {add.error && <MemberProblem error={add.error} />}
        <Button type="submit" look="primary" busy={add.isPending} className="self-start max-md:w-full">
          {texts.add}
        </Button>
      </form>
    </Dialog>
  );
}

export function RoleSelect({
  roles,
  role,
  onChange,
}: {
  roles: readonly Role[];
  role: Role;
  onChange: (r: Role) => void;
}) {
  return (
    <Select label={texts.role} value={role} onChange={(event) => onChange(event.target.value as Role)}>
      {roles.map((known) => (
        <option key={known} value={known}>
          {texts.roleTexts[known]}
        </option>
      ))}
    </Select>
  );
}
