// The form of a group: create or change it.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createGroup, type GroupRecord, updateGroup } from "@/api/group";
import { keys } from "@/api/keys";
import type { Group } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { group as texts } from "@/texts/en/group";
import { Button } from "@/ui/Button";
import { Field, TextArea } from "@/ui/Field";
import { changeOf, isGroupName } from "./form";

type Props = { org: string; group?: GroupRecord; onDone: (group: Group) => void };

export function GroupForm({ org, group, onDone }: Props) {
  const queries = useQueryClient();
  const [form, setForm] = useState({ name: group?.name ?? "", description: group?.description ?? "" });
  const [isTouched, setTouched] = useState(false);
  const isInvalid = !isGroupName(form.name);
  const save = useMutation({
    mutationFn: () => {
      if (group) return updateGroup(org, group, changeOf(group, form));
      return createGroup(org, { name: form.name, description: form.description.trim() || undefined });
    },
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.groups(org) }),
  });
  const isRenamed = group !== undefined && form.name !== group.name;
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        setTouched(true);
        if (!isInvalid && !save.isPending) save.mutate();
      }}
    >
      <Field
        label={texts.name}
        hint={texts.nameHint}
        maxLength={63}
        autoCapitalize="none"
        spellCheck={false}
        error={isTouched && isInvalid ? texts.nameInvalid : undefined}
        value={form.name}
        onChange={(event) => setForm({ ...form, name: event.target.value })}
      />
      {isRenamed && <p className="rounded-6 bg-amber-soft p-3 text-amber">{texts.renameText}</p>}
      <TextArea
        label={texts.description}
        maxLength={500}
        value={form.description}
        onChange={(event) => setForm({ ...form, description: event.target.value })}
      />
      {save.error && <ProblemPanel error={save.error} />}
      <Button type="submit" look="primary" busy={save.isPending} className="self-start max-md:w-full">
        {group ? texts.save : texts.create}
      </Button>
    </form>
  );
}
