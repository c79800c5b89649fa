// Create a token. Its secret is shown once and kept nowhere: neither in the cache nor in storage.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { pipelinesQuery } from "@/api/pipeline";
import { createToken, type NewToken } from "@/api/token";
import type { ApiToken } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { serverNow } from "@/lib/clock";
import { token as texts } from "@/texts/en/token";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Field, Select } from "@/ui/Field";
import { type Expiry, expiriesOf, formOf, KINDS, type Kind, mayHave, mistakesOf, requestOf, SCOPES } from "./form";
import { Ticks } from "@/ui/Ticks";
import { TokenOnce } from "./TokenOnce";

export type NewTokenProps = {
  org: string;
  onClose: () => void;
  /** Creates the token of a service account, instead of one of the person. */
  account?: (request: NewToken) => Promise<ApiToken & { token?: string | null }>;
};

/** Service accounts have no tokens of people. */
const ACCOUNT_KINDS = KINDS.filter((kind) => kind !== "user");

export function NewTokenDialog({ org, onClose, account }: NewTokenProps) {
  const queries = useQueryClient();
  const pipelines = useQuery(pipelinesQuery(org));
  const [form, setForm] = useState(() => formOf("ci"));
  const [isTouched, setTouched] = useState(false);
  const create = useMutation({
    mutationFn: () => {
      const request = requestOf(form, serverNow());
      return account ? account(request) : createToken(org, request);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.tokens(org) }),
    gcTime: 0,
  });
  const mistakes = isTouched ? mistakesOf(form) : [];
  if (create.data) return <TokenOnce org={org} secret={create.data.token ?? undefined} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={texts.create}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (mistakesOf(form).length === 0 && !create.isPending) create.mutate();
        }}
      >
        <Field
          label={texts.name}
          hint={texts.nameHint}
          maxLength={100}
          error={mistakes.includes("name") ? texts.nameRequired : undefined}
          value={form.name}
          onChange={(event) => setForm({ ...form, name: event.target.value })}
        />
        <Select
          label={texts.kind}
          value={form.kind}
          onChange={(event) => setForm(formOf(event.target.value as Kind, form))}
        >
          {(account ? ACCOUNT_KINDS : KINDS).map((kind) => (
            <option key={kind} value={kind}>
              {texts.kinds[kind]}
            </option>
          ))}
        </Select>
        <Ticks
          legend={texts.scopes}
          error={mistakes.includes("scopes") ? texts.scopesRequired : undefined}
          ticks={SCOPES.map((scope) => ({
            value: scope,
            label: texts.scopeTexts[scope],
            why: mayHave(form.kind, scope) ? undefined : texts.noAdmin,
          }))}
          values={form.scopes}
          onChange={(scopes) => setForm({ ...form, scopes })}
        />
        <Select
          label={texts.pipelines}
          value={form.pipelines ? "some" : "all"}
          onChange={(event) => setForm({ ...form, pipelines: event.target.value === "all" ? undefined : [] })}
        >
          <option value="all">{texts.allPipelines}</option>
          <option value="some">{texts.somePipelines}</option>
        </Select>
        {form.pipelines && (
          <Ticks
            legend={texts.somePipelines}
            error={mistakes.includes("pipelines") ? texts.pipelinesRequired : undefined}
            ticks={(pipelines.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
            values={form.pipelines}
            onChange={(chosen) => setForm({ ...form, pipelines: chosen })}
          />
        )}
        <label className="flex min-h-row items-center gap-2">
          <input
            type="checkbox"
            checked={form.allowForce}
            onChange={(event) => setForm({ ...form, allowForce: event.target.checked })}
          />
          {texts.force}
        </label>
        <Select
          label={texts.expiry}
          value={form.expiry}
          onChange={(event) => setForm({ ...form, expiry: event.target.value as Expiry })}
        >
          {expiriesOf(form.kind).map((expiry) => (
            <option key={expiry} value={expiry}>
              {texts.expiries[expiry]}
            </option>
          ))}
        </Select>
        {account && (
          <Field
            label={texts.maxSessions}
            hint={texts.maxSessionsHint}
            inputMode="numeric"
            error={mistakes.includes("maxSessions") ? texts.maxSessionsInvalid : undefined}
            value={form.maxSessions}
            onChange={(event) => setForm({ ...form, maxSessions: event.target.value })}
          />
        )}
        {create.error && <ProblemPanel error={create.error} />}
        <Button type="submit" look="primary" busy={create.isPending} className="self-start max-md:w-full">
          {texts.create}
        </Button>
      </form>
    </Dialog>
  );
}
