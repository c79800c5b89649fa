// Create a trust policy.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { pipelinesQuery } from "@/api/pipeline";
import { createTrustPolicy } from "@/api/trustPolicy";
import type { ServiceAccount } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { trustPolicy as texts } from "@/texts/en/trustPolicy";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Field, Select } from "@/ui/Field";
import { Ticks } from "@/ui/Ticks";
import { showToast } from "@/ui/toasts";
import { ClaimFields } from "./ClaimFields";
import { CI_SYSTEMS, type CiSystem, LIFETIMES, mistakesOf, policyOf, requestOf } from "./policy";

type Props = { org: string; account: ServiceAccount; onClose: () => void };

export function NewPolicyDialog({ org, account, onClose }: Props) {
  const queries = useQueryClient();
  const pipelines = useQuery(pipelinesQuery(org));
  const [form, setForm] = useState(() => policyOf("github"));
  const [isTouched, setTouched] = useState(false);
  const mistakes = isTouched ? mistakesOf(form) : [];
  const create = useMutation({
    mutationFn: () => createTrustPolicy(org, account.id, requestOf(form)),
    onSuccess: ({ name }) => {
      onClose();
      showToast({ title: texts.created(name) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.serviceAccounts(org) }),
  });
  return (
    <Dialog open onClose={onClose} title={texts.create} description={texts.text}>
      <form
        noValidate
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (mistakesOf(form).length === 0 && !create.isPending) create.mutate();
        }}
      >
        <Field
          label={texts.name}
          maxLength={100}
          error={mistakes.includes("name") ? texts.nameRequired : undefined}
          value={form.name}
          onChange={(event) => setForm({ ...form, name: event.target.value })}
        />
        <Select
          label={texts.system}
          value={form.system}
          onChange={(event) => setForm(policyOf(event.target.value as CiSystem, form))}
        >
          {CI_SYSTEMS.map((system) => (
            <option key={system} value={system}>
              {texts.systems[system]}
            </option>
          ))}
        </Select>
        <Field
          label={texts.issuer}
          hint={texts.issuerHint}
          type="url"
          maxLength={255}
          error={mistakes.includes("issuer") ? texts.issuerInvalid : undefined}
          value={form.issuer}
          onChange={(event) => setForm({ ...form, issuer: event.target.value })}
        />
        <ClaimFields
          claims={form.claims}
          error={
            mistakes.includes("claims")
              ? texts.claimsRequired
              : mistakes.includes("claimTwice")
                ? texts.claimTwice
                : undefined
          }
          onChange={(claims) => setForm({ ...form, claims })}
        />
        <Ticks
          legend={texts.pipelines}
          error={mistakes.includes("pipelines") ? texts.pipelinesRequired : undefined}
          ticks={(pipelines.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          values={form.pipelines}
          onChange={(chosen) => setForm({ ...form, pipelines: chosen })}
        />
        <Field
          label={texts.audience}
          hint={texts.audienceHint}
          maxLength={255}
          value={form.audience}
          onChange={(event) => setForm({ ...form, audience: event.target.value })}
        />
        <Select
          label={texts.lifetime}
          value={form.lifetime}
          onChange={(event) => setForm({ ...form, lifetime: event.target.value })}
        >
          {LIFETIMES.map((seconds) => (
            <option key={seconds} value={seconds}>
              {texts.lifetimes[seconds]}
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
