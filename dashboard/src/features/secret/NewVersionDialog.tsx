// Set a new value of a secret.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { setSecretValue } from "@/api/secret";
import type { Secret } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { secret as texts } from "@/texts/en/secret";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import { useTake } from "./useTake";
import type { Take } from "./value";
import { ValueField } from "./ValueField";

export function NewVersionDialog({ org, secret, onClose }: { org: string; secret: Secret; onClose: () => void }) {
  const queries = useQueryClient();
  const [isStaged, setStaged] = useState(false);
  const value = useTake();
  const save = useMutation({
    mutationFn: (take: Take) => setSecretValue(org, secret.id, take(), isStaged),
    onSuccess: ({ version, status }) => {
      onClose();
      showToast({ title: status === "staged" ? texts.wasStaged(version) : texts.wasSet(version) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.secrets(org) }),
    gcTime: 0,
  });
  const submit = async (element: HTMLFormElement) => {
    if (save.isPending) return;
    const taken = await value.take(element, true);
    if (taken) save.mutate(taken);
  };
  return (
    <Dialog open onClose={onClose} title={texts.newVersionOf(secret.name)} description={texts.newVersionText}>
      <form
        className="flex flex-col gap-4"
        autoComplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <ValueField mistake={value.mistake} error={save.error ? texts.again : undefined} />
        <label className="flex min-h-row items-center gap-2">
          <input type="checkbox" checked={isStaged} onChange={(event) => setStaged(event.target.checked)} />
          {texts.staged}
        </label>
        {save.error && <ProblemPanel error={save.error} />}
        <Button type="submit" look="primary" busy={save.isPending} className="self-start max-md:w-full">
          {texts.newVersion}
        </Button>
      </form>
    </Dialog>
  );
}
