// The credential of a private registry. It is written, and never read.
import { credential as texts } from "@/texts/en/stepRegistry";
import { Field } from "@/ui/Field";
import type { Form } from "./form";

type Props = {
  form: Form;
  /** Whether one is set already. */
  isSet: boolean;
  error: string | undefined;
  onChange: (next: Partial<Form>) => void;
};

export function CredentialFields({ form, isSet, error, onChange }: Props) {
  return (
    <fieldset className="flex flex-col gap-4">
      <legend className="mb-1 text-13 text-ink2">{isSet ? texts.isSet : texts.hint}</legend>
      {!form.isPublic && (
        <>
          <Field
            label={texts.username}
            hint={texts.usernameHint}
            maxLength={255}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            value={form.username}
            onChange={(event) => onChange({ username: event.target.value })}
          />
          <Field
            label={texts.password}
            type="password"
            maxLength={4_096}
            autoComplete="new-password"
            error={error}
            value={form.password}
            onChange={(event) => onChange({ password: event.target.value })}
          />
        </>
      )}
      {isSet && (
        <label className="flex min-h-row items-center gap-2">
          <input
            type="checkbox"
            checked={form.isPublic}
            onChange={(event) => onChange({ isPublic: event.target.checked, username: "", password: "" })}
          />
          {texts.remove}
        </label>
      )}
    </fieldset>
  );
}
