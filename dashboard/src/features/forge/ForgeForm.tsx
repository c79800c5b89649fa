// The form of a forge: connect or change it. Its token is written, and never read.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createForge, type ForgeRecord, updateForge } from "@/api/forge";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import type { Forge } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { forge as texts } from "@/texts/en/forge";
import { Button } from "@/ui/Button";
import { CodeArea, CodeField, Field, Select } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import {
  changeOf,
  type Form,
  formOf,
  isKind,
  KINDS,
  lineOfRepository,
  type Mistake,
  mistakesOf,
  requestOf,
  withKind,
} from "./form";

type Props = { org: string; forge?: ForgeRecord; onDone: () => void };

export function ForgeForm({ org, forge, onDone }: Props) {
  const queries = useQueryClient();
  // The record when the dialog opened. Its ETag is sent as If-Match: after a concurrent change the server responds 412.
  const [original] = useState(forge);
  const [form, setForm] = useState(() => formOf(original));
  const [isTouched, setTouched] = useState(false);
  const set = (next: Partial<Form>) => setForm({ ...form, ...next });
  const mistakes = mistakesOf(form, original);
  const save = useMutation({
    mutationFn: (): Promise<Forge> =>
      original ? updateForge(org, original, changeOf(original, form)) : createForge(org, requestOf(form)),
    onSuccess: ({ name }) => {
      onDone();
      showToast({ title: original ? texts.saved(name) : texts.created(name) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: [...keys.forges(org), "list"] }),
    // The request contains the token.
    gcTime: 0,
  });
  const problem = save.error instanceof Problem ? save.error : undefined;
  const errorOf = (mistake: Mistake, pointer: string) =>
    isTouched && mistakes.includes(mistake) ? texts.mistakes[mistake] : problem?.field(pointer);
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        setTouched(true);
        if (mistakes.length === 0 && !save.isPending) save.mutate();
      }}
    >
      {!original && (
        <>
          <CodeField
            label={texts.name}
            hint={texts.nameHint}
            maxLength={63}
            error={errorOf("name", "/name")}
            value={form.name}
            onChange={(event) => set({ name: event.target.value })}
          />
          <Select
            label={texts.kind}
            value={form.kind}
            onChange={({ target }) => isKind(target.value) && setForm(withKind(form, target.value))}
          >
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {texts.kinds[kind]}
              </option>
            ))}
          </Select>
        </>
      )}
      <CodeField
        label={texts.address}
        hint={texts.addressHint[form.kind]}
        maxLength={255}
        inputMode="url"
        error={errorOf("address", "/address")}
        value={form.address}
        onChange={(event) => set({ address: event.target.value })}
      />
      <CodeArea
        label={texts.repositories}
        hint={original ? texts.repositoriesChangeHint : texts.repositoriesHint}
        error={errorOf("repositories", "/repositories") ?? repositoryRefusal(problem, form)}
        value={form.repositories}
        onChange={(event) => set({ repositories: event.target.value })}
      />
      <Field
        label={texts.token}
        hint={original ? texts.tokenIsSet : texts.tokenHint}
        type="password"
        maxLength={4_096}
        autoComplete="new-password"
        error={
          errorOf("token", "/credential") ??
          errorOf("tokenAgain", "/credential/token") ??
          problem?.field("/credential/token")
        }
        value={form.token}
        onChange={(event) => set({ token: event.target.value })}
      />
      {save.error && <ProblemPanel error={save.error} />}
      <Button type="submit" look="primary" busy={save.isPending} className="self-start max-md:w-full">
        {original ? texts.save : texts.create}
      </Button>
    </form>
  );
}

/** The server's problem of one repository, by the number of its line. */
function repositoryRefusal(problem: Problem | undefined, form: Form): string | undefined {
  for (const { pointer, detail } of problem?.fields ?? []) {
    const position = /^\/repositories\/(\d+)$/.exec(pointer ?? "")?.[1];
    if (position !== undefined) return texts.repositoryRefused(lineOfRepository(form, Number(position)), detail);
  }
  return undefined;
}
