// The form of the model that explains failures. Its key is written, and never read.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { type SettingsRecord, updateAnalysisSettings } from "@/api/analysisSettings";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import { ProblemPanel } from "@/features/problem";
import { settings as texts } from "@/texts/en/analysisSettings";
import { Button } from "@/ui/Button";
import { CodeField, Field, Select } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import {
  changeOf,
  type Form,
  formOf,
  hostOf,
  isProtocol,
  type Mistake,
  mistakesOf,
  PROTOCOLS,
  withProtocol,
} from "./form";
import { LimitFields } from "./LimitFields";

type Props = {
  org: string;
  settings: SettingsRecord;
  /** Shows the settings as they are now, and forgets what was entered. */
  onRestart: () => void;
};

export function SettingsForm({ org, settings, onRestart }: Props) {
  const queries = useQueryClient();
  const hint = useId();
  // The settings when the form was filled in. Their ETag is sent as If-Match: after a concurrent change the server responds 412.
  const [original] = useState(settings);
  const [form, setForm] = useState(() => formOf(original));
  const [isTouched, setTouched] = useState(false);
  const set = (next: Partial<Form>) => setForm({ ...form, ...next });
  const mistakes = mistakesOf(form, original);
  const save = useMutation({
    mutationFn: () => updateAnalysisSettings(org, original.etag, changeOf(original, form)),
    onSuccess: (saved) => {
      queries.setQueryData(keys.analysisSettings(org), saved);
      onRestart();
      showToast({ title: texts.saved });
    },
    onError: () => queries.invalidateQueries({ queryKey: keys.analysisSettings(org) }),
    // The request contains the key.
    gcTime: 0,
  });
  const problem = save.error instanceof Problem ? save.error : undefined;
  const mistakeOf = (mistake: Mistake) =>
    isTouched && mistakes.includes(mistake) ? texts.mistakes[mistake] : undefined;
  const errorOf = (mistake: Mistake, pointer: string) => mistakeOf(mistake) ?? problem?.field(pointer);
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        setTouched(true);
        if (mistakes.length === 0 && !save.isPending) save.mutate();
      }}
    >
      <div>
        <label className="flex min-h-row items-center gap-2 font-strong">
          <input
            type="checkbox"
            aria-describedby={hint}
            checked={form.isEnabled}
            onChange={(event) => set({ isEnabled: event.target.checked })}
          />
          {texts.enable}
        </label>
        <p id={hint} className="text-13 wrap-anywhere text-ink2">
          {texts.enableHint(hostOf(form))}
        </p>
      </div>
      <Select
        label={texts.protocol}
        error={problem?.field("/protocol")}
        value={form.protocol}
        onChange={({ target }) => isProtocol(target.value) && setForm(withProtocol(form, target.value))}
      >
        {PROTOCOLS.map((protocol) => (
          <option key={protocol} value={protocol}>
            {texts.protocols[protocol]}
          </option>
        ))}
      </Select>
      <CodeField
        label={texts.address}
        hint={texts.addressHint[form.protocol]}
        maxLength={255}
        inputMode="url"
        error={errorOf("address", "/address")}
        value={form.address}
        onChange={(event) => set({ address: event.target.value })}
      />
      <CodeField
        label={texts.model}
        hint={texts.modelHint}
        maxLength={200}
        error={errorOf("model", "/model")}
        value={form.model}
        onChange={(event) => set({ model: event.target.value })}
      />
      <Field
        label={texts.key}
        hint={form.isKeyRemoved ? texts.keyIsRemoved : original.hasCredential ? texts.keyIsSet : texts.keyHint}
        type="password"
        maxLength={4_096}
        autoComplete="new-password"
        readOnly={form.isKeyRemoved}
        error={mistakeOf("key") ?? errorOf("keyAgain", "/credential")}
        value={form.key}
        onChange={(event) => set({ key: event.target.value })}
      />
      {original.hasCredential && (
        <label className="-mt-3 flex min-h-row items-center gap-2">
          <input
            type="checkbox"
            checked={form.isKeyRemoved}
            onChange={(event) => set({ isKeyRemoved: event.target.checked, key: "" })}
          />
          {texts.removeKey}
        </label>
      )}
      <LimitFields form={form} onChange={set} errorOf={errorOf} />
      {save.error && <ProblemPanel error={save.error} />}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" busy={save.isPending} className="max-md:w-full">
          {texts.save}
        </Button>
        {problem?.kind === "stale" && (
          <Button className="max-md:w-full" onClick={onRestart}>
            {texts.reload}
          </Button>
        )}
      </div>
    </form>
  );
}
