// Change the description and the rules of a secret.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import { type SecretRecord, updateSecret } from "@/api/secret";
import { ProblemPanel } from "@/features/problem";
import { secret as texts } from "@/texts/en/secret";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { Field } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import { changeOf, editFormOf, lacksPipelines, warningText } from "./form";
import { RuleFields } from "./RuleFields";

export function EditDialog({ org, secret, onClose }: { org: string; secret: SecretRecord; onClose: () => void }) {
  const queries = useQueryClient();
  // The record when the dialog opened. Its ETag is sent as If-Match: after a concurrent change the server responds 412.
  const [original] = useState(secret);
  const [form, setForm] = useState(() => editFormOf(original));
  const [isTouched, setTouched] = useState(false);
  const isLacking = lacksPipelines(original.scope, form.rules, Boolean(original.use));
  const save = useMutation({
    mutationFn: () => updateSecret(org, original, changeOf(original, form)),
    onSuccess: ({ warnings }) => {
      onClose();
      showToast({ title: texts.saved(original.name), text: warningText(warnings) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.secrets(org) }),
  });
  const problem = save.error instanceof Problem ? save.error : undefined;
  return (
    <Dialog open onClose={onClose} title={texts.editTitle(original.name)} description={texts.editText}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (!isLacking && !save.isPending) save.mutate();
        }}
      >
        <Field
          label={texts.description}
          maxLength={500}
          error={problem?.field("/description")}
          value={form.description}
          onChange={(event) => setForm({ ...form, description: event.target.value })}
        />
        <RuleFields
          org={org}
          scope={original.scope}
          rules={form.rules}
          isCheckout={original.use?.kind === "checkout"}
          lacksPipelines={isTouched && isLacking}
          problem={problem}
          onChange={(rules) => setForm({ ...form, rules })}
        />
        {save.error && <ProblemPanel error={save.error} />}
        <Button type="submit" look="primary" busy={save.isPending} className="self-start max-md:w-full">
          {texts.save}
        </Button>
      </form>
    </Dialog>
  );
}
