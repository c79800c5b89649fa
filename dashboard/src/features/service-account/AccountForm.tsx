// The form of a service account: create or change it. A role below developer ends sessions, which are shown before.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import {
  accountEndingsQuery,
  type AccountRecord,
  createServiceAccount,
  updateServiceAccount,
} from "@/api/serviceAccount";
import type { Role, ServiceAccount } from "@/api/types";
import { Endings, whyNotYet } from "@/features/ending";
import { ProblemPanel } from "@/features/problem";
import { hasRole, ROLES } from "@/lib/roles";
import { member } from "@/texts/en/member";
import { serviceAccount as texts } from "@/texts/en/serviceAccount";
import { Button } from "@/ui/Button";
import { Field, Select, TextArea } from "@/ui/Field";
import { changeOf } from "./form";

type Props = { org: string; account?: AccountRecord; onDone: (account: ServiceAccount) => void };

/** A program never owns an organization. */
const ACCOUNT_ROLES = ROLES.filter((role) => role !== "owner");

export function AccountForm({ org, account, onDone }: Props) {
  const queries = useQueryClient();
  const [form, setForm] = useState({
    name: account?.name ?? "",
    role: account?.role ?? ("developer" as Role),
    description: account?.description ?? "",
  });
  const [isTouched, setTouched] = useState(false);
  const isNameless = form.name.trim() === "";
  const endsSessions = account !== undefined && hasRole(account.role, "developer") && !hasRole(form.role, "developer");
  const endings = useQuery({ ...accountEndingsQuery(org, account?.id ?? "", form.role), enabled: endsSessions });
  const why = endsSessions ? whyNotYet(endings) : undefined;
  const save = useMutation({
    mutationFn: (): Promise<ServiceAccount> => {
      if (account) return updateServiceAccount(org, account, changeOf(account, form));
      const { name, role, description } = form;
      return createServiceAccount(org, { name: name.trim(), role, description: description.trim() || undefined });
    },
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.serviceAccounts(org) }),
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        setTouched(true);
        if (!isNameless && !why && !save.isPending) save.mutate();
      }}
    >
      <Field
        label={texts.name}
        hint={texts.nameHint}
        maxLength={100}
        error={isTouched && isNameless ? texts.nameRequired : undefined}
        value={form.name}
        onChange={(event) => setForm({ ...form, name: event.target.value })}
      />
      <Select
        label={texts.role}
        value={form.role}
        onChange={(event) => setForm({ ...form, role: event.target.value as Role })}
      >
        {ACCOUNT_ROLES.map((role) => (
          <option key={role} value={role}>
            {member.roleTexts[role]}
          </option>
        ))}
      </Select>
      {endsSessions && <Endings endings={endings} />}
      <TextArea
        label={texts.description}
        maxLength={500}
        value={form.description}
        onChange={(event) => setForm({ ...form, description: event.target.value })}
      />
      {save.error && <ProblemPanel error={save.error} />}
      <Button type="submit" look="primary" busy={save.isPending} why={why} className="self-start max-md:w-full">
        {account ? texts.save : texts.create}
      </Button>
    </form>
  );
}
