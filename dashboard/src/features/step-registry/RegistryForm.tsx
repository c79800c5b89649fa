// The form of a registry: add or change it.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import { createRegistry, type RegistryRecord, updateRegistry } from "@/api/stepRegistry";
import type { StepRegistry } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { registryForm as texts } from "@/texts/en/stepRegistry";
import { Button } from "@/ui/Button";
import { CodeArea, CodeField } from "@/ui/Field";
import { AgeFields } from "./AgeFields";
import { CredentialFields } from "./CredentialFields";
import { changeOf, type Form, formOf, invalidSigner, lineOfSigner, type Mistake, mistakesOf, requestOf } from "./form";

type Props = { org: string; registry?: RegistryRecord; onDone: (registry: StepRegistry) => void };

export function RegistryForm({ org, registry, onDone }: Props) {
  const queries = useQueryClient();
  // The record when the form was opened. Its ETag is sent as If-Match: after a concurrent change the server responds 412.
  const [original] = useState(registry);
  const [form, setForm] = useState(() => formOf(original));
  const [isTouched, setTouched] = useState(false);
  const set = (next: Partial<Form>) => setForm({ ...form, ...next });
  const mistakes = mistakesOf(form, original);
  const wrongLine = invalidSigner(form);
  const save = useMutation({
    mutationFn: (): Promise<StepRegistry> =>
      original ? updateRegistry(org, original, changeOf(original, form)) : createRegistry(org, requestOf(form)),
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.stepRegistries(org) }),
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
        if (mistakes.length === 0 && wrongLine === undefined && !save.isPending) save.mutate();
      }}
    >
      <CodeField
        label={texts.name}
        hint={texts.nameHint}
        maxLength={63}
        error={errorOf("name", "/name")}
        value={form.name}
        onChange={(event) => set({ name: event.target.value })}
      />
      {original && form.name !== original.name && <Warning text={texts.renamed} />}
      <CodeField
        label={texts.url}
        hint={texts.urlHint}
        maxLength={255}
        inputMode="url"
        placeholder="https://git.example.com/acme/steps.git"
        error={errorOf("url", "/url")}
        value={form.url}
        onChange={(event) => set({ url: event.target.value })}
      />
      {original && form.url.trim() !== original.url && <Warning text={texts.urlChanged} />}
      <CredentialFields
        form={form}
        isSet={original?.hasCredential ?? false}
        error={errorOf("credential", "/credential") ?? errorOf("credentialAgain", "/credential/password")}
        onChange={set}
      />
      <CodeArea
        label={texts.signers}
        hint={texts.signersHint}
        error={
          isTouched && wrongLine !== undefined
            ? texts.signerInvalid(wrongLine)
            : (signerRefusal(problem, form) ?? errorOf("signersMissing", "/signers"))
        }
        value={form.signers}
        onChange={(event) => set({ signers: event.target.value })}
      />
      <label className="flex min-h-row items-center gap-2">
        <input
          type="checkbox"
          checked={form.requiresSignature}
          onChange={(event) => set({ requiresSignature: event.target.checked })}
        />
        {texts.requireSignature}
      </label>
      <AgeFields form={form} error={errorOf("age", "/minimumAgeSeconds")} onChange={set} />
      {save.error && <ProblemPanel error={save.error} />}
      <Button type="submit" look="primary" busy={save.isPending} className="self-start max-md:w-full">
        {original ? texts.save : texts.create}
      </Button>
    </form>
  );
}

/** The server's problem of one signer, by the number of its line. */
function signerRefusal(problem: Problem | undefined, form: Form): string | undefined {
  for (const { pointer, detail } of problem?.fields ?? []) {
    const position = /^\/signers\/(\d+)$/.exec(pointer ?? "")?.[1];
    if (position !== undefined) return texts.signerRefused(lineOfSigner(form, Number(position)), detail);
  }
  return undefined;
}

function Warning({ text }: { text: string }) {
  return <p className="rounded-6 bg-amber-soft p-3 text-13 text-amber">{text}</p>;
}
