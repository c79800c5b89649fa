// The form of a freeze, for a new one and for changes.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createFreeze, type FreezeRecord, updateFreeze } from "@/api/freeze";
import { keys } from "@/api/keys";
import { pipelinesQuery } from "@/api/pipeline";
import { Problem } from "@/api/problem";
import { ProblemPanel } from "@/features/problem";
import { freeze as texts } from "@/texts/en/freeze";
import { Button } from "@/ui/Button";
import { CodeField, Field, TextArea } from "@/ui/Field";
import { Segments } from "@/ui/Segments";
import { Ticks } from "@/ui/Ticks";
import { showToast } from "@/ui/toasts";
import { changeOf, emptyForm, type Form, formOf, type Mistake, mistakesOf, requestOf } from "./form";
import { WeeklyFields } from "./WeeklyFields";

const KINDS: readonly Form["kind"][] = ["once", "weekly"];

type Props = { org: string; freeze?: FreezeRecord; onDone: () => void };

export function FreezeForm({ org, freeze, onDone }: Props) {
  const queries = useQueryClient();
  const pipelines = useQuery(pipelinesQuery(org)).data?.data ?? [];
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  // The record when the dialog opened. Its ETag is sent as If-Match: after a concurrent change the server responds 412.
  const [original] = useState(freeze);
  const [form, setForm] = useState(() => (original ? formOf(original, zone) : emptyForm(zone)));
  const [isTouched, setTouched] = useState(false);
  const save = useMutation({
    mutationFn: () =>
      original ? updateFreeze(org, original, changeOf(original, form)) : createFreeze(org, requestOf(form)),
    onSuccess: ({ name }) => {
      onDone();
      showToast({ title: original ? texts.saved(name) : texts.created(name) });
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: [...keys.freezes(org), "list"] });
      void queries.invalidateQueries({ queryKey: keys.lasting(org) });
    },
  });
  const set = (next: Partial<Form>) => setForm({ ...form, ...next });
  const mistakes = mistakesOf(form);
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
      <Field
        label={texts.name}
        hint={texts.nameHint}
        maxLength={100}
        error={errorOf("name", "/name")}
        value={form.name}
        onChange={(event) => set({ name: event.target.value })}
      />
      <TextArea
        label={texts.reason}
        hint={texts.reasonHint}
        maxLength={500}
        error={errorOf("reason", "/reason")}
        value={form.reason}
        onChange={(event) => set({ reason: event.target.value })}
      />
      <Segments
        label={texts.kind}
        value={form.kind}
        onChange={(kind) => set({ kind })}
        segments={KINDS.map((value) => ({ value, label: texts[value] }))}
      />
      {form.kind === "once" ? (
        <div className="grid gap-4 md:grid-cols-2">
          {(["from", "to"] as const).map((end) => (
            <Field
              key={end}
              type="datetime-local"
              label={texts[end]}
              hint={texts.localHint(zone)}
              error={errorOf(end, `/${end}`)}
              value={form[end]}
              onChange={(event) => set({ [end]: event.target.value })}
            />
          ))}
        </div>
      ) : (
        <WeeklyFields
          windows={form.windows}
          zone={form.zone}
          error={errorOf("windows", "/weekly")}
          zoneError={problem?.field("/zone")}
          onChange={set}
        />
      )}
      <CodeField
        label={texts.environments}
        hint={texts.environmentsHint}
        error={problem?.field("/environments")}
        value={form.environments}
        onChange={(event) => set({ environments: event.target.value })}
      />
      <Ticks
        legend={`${texts.pipelines} (${texts.pipelinesHint.toLowerCase()})`}
        error={problem?.field("/pipelines")}
        ticks={pipelines.map(({ id, name }) => ({ value: id, label: name }))}
        values={form.pipelines}
        onChange={(chosen) => set({ pipelines: chosen })}
      />
      {save.error && <ProblemPanel error={save.error} />}
      <Button type="submit" look="primary" busy={save.isPending} className="self-start max-md:w-full">
        {original ? texts.save : texts.create}
      </Button>
    </form>
  );
}
