// Create a secret. Its value leaves the page with the request: see `value.ts`.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { pipelinesQuery } from "@/api/pipeline";
import { Problem } from "@/api/problem";
import { createSecret } from "@/api/secret";
import type { Role } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { secret as texts } from "@/texts/en/secret";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Field, Select } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import {
  type Form,
  formOf,
  type Mistake,
  mistakesOf,
  requestOf,
  type Scope,
  SCOPES,
  type User,
  USERS,
  warningText,
} from "./form";
import { mayEdit } from "./rights";
import { RuleFields } from "./RuleFields";
import { useTake } from "./useTake";
import type { Take } from "./value";
import { ValueField } from "./ValueField";

type Props = { org: string; role: Role; pipelineId: string | undefined; onClose: () => void };

export function NewSecretDialog({ org, role, pipelineId, onClose }: Props) {
  const queries = useQueryClient();
  const pipelines = useQuery(pipelinesQuery(org));
  const [form, setForm] = useState(() => formOf(pipelineId));
  const [isTouched, setTouched] = useState(false);
  const value = useTake();
  const create = useMutation({
    mutationFn: (take: Take) => createSecret(org, requestOf(form), take()),
    onSuccess: ({ data, warnings }) => {
      onClose();
      showToast({ title: texts.created(data.name), text: warningText(warnings) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.secrets(org) }),
    gcTime: 0,
  });
  const set = (next: Partial<Form>) => setForm({ ...form, ...next });
  const mistakes = isTouched ? mistakesOf(form) : [];
  const problem = create.error instanceof Problem ? create.error : undefined;
  const errorOf = (mistake: Mistake, pointer: string) =>
    mistakes.includes(mistake) ? texts.mistakes[mistake] : problem?.field(pointer);
  const submit = async (element: HTMLFormElement) => {
    setTouched(true);
    if (create.isPending) return;
    const taken = await value.take(element, mistakesOf(form).length === 0);
    if (taken) create.mutate(taken);
  };
  return (
    <Dialog open onClose={onClose} title={texts.create}>
      <form
        className="flex flex-col gap-4"
        autoComplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <Field
          label={texts.name}
          hint={texts.nameHint}
          maxLength={63}
          className="font-mono"
          error={errorOf("name", "/name")}
          value={form.name}
          onChange={(event) => set({ name: event.target.value })}
        />
        <Select
          label={texts.scope}
          value={form.scope}
          onChange={(event) => set({ scope: event.target.value as Scope })}
        >
          {SCOPES.map((scope) => (
            <option key={scope} value={scope} disabled={!mayEdit(role, scope)}>
              {texts.scopes[scope]}
              {!mayEdit(role, scope) && ` (${texts.adminsOnly})`}
            </option>
          ))}
        </Select>
        {form.scope !== "organization" && (
          <Select
            label={texts.pipeline}
            error={errorOf("pipeline", "/pipelineId")}
            value={form.pipelineId}
            onChange={(event) => set({ pipelineId: event.target.value })}
          >
            <option value="">{texts.choose}</option>
            {(pipelines.data?.data ?? []).map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Select>
        )}
        {form.scope === "environment" && (
          <Field
            label={texts.environment}
            hint={texts.environmentHint}
            className="font-mono"
            error={errorOf("environment", "/environment")}
            value={form.environment}
            onChange={(event) => set({ environment: event.target.value })}
          />
        )}
        <ValueField mistake={value.mistake} error={create.error ? texts.again : undefined} />
        <Field
          label={texts.description}
          maxLength={500}
          error={problem?.field("/description")}
          value={form.description}
          onChange={(event) => set({ description: event.target.value })}
        />
        <Select label={texts.user} value={form.user} onChange={(event) => set({ user: event.target.value as User })}>
          {USERS.map((user) => (
            <option key={user} value={user}>
              {texts.users[user]}
            </option>
          ))}
        </Select>
        {form.user !== "steps" && (
          <Field
            label={texts.host}
            hint={texts.hostHint}
            className="font-mono"
            error={errorOf("host", "/use/host")}
            value={form.host}
            onChange={(event) => set({ host: event.target.value })}
          />
        )}
        <RuleFields
          org={org}
          scope={form.scope}
          rules={form.rules}
          isCheckout={form.user === "checkout"}
          lacksPipelines={mistakes.includes("pipelines")}
          lacksRepositories={mistakes.includes("repositories")}
          problem={problem}
          onChange={(rules) => set({ rules })}
        />
        {create.error && <ProblemPanel error={create.error} />}
        <Button type="submit" look="primary" busy={create.isPending} className="self-start max-md:w-full">
          {texts.create}
        </Button>
      </form>
    </Dialog>
  );
}
