// Copies the evidence as one text for a coding agent. A browser that does not allow it after a request gets the text
// to copy by hand.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { readBundle } from "@/api/failure";
import { showProblem } from "@/features/problem";
import { panel as texts } from "@/texts/en/failure";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copyable";
import { showToast } from "@/ui/toasts";

type Props = { org: string; deployment: string };

export function useBundle({ org, deployment }: Props) {
  const [text, setText] = useState<string>();
  const copy = useMutation({
    mutationFn: async () => {
      const bundle = await readBundle(org, deployment);
      try {
        await navigator.clipboard.writeText(bundle);
        return undefined;
      } catch {
        return bundle;
      }
    },
    onSuccess: (notCopied) => {
      setText(notCopied);
      if (notCopied === undefined) showToast({ title: texts.copied });
    },
    onError: showProblem,
  });
  const button = (
    <Button title={texts.copyHint} busy={copy.isPending} onClick={() => copy.mutate()}>
      {texts.copy}
    </Button>
  );
  const byHand = text !== undefined && (
    <div className="mb-3 rounded-6 border border-line bg-surface p-4">
      <p className="mb-2 text-13 text-ink2">{texts.notCopied}</p>
      <Copyable text={text} label={texts.copyByHand} lines />
    </div>
  );
  return { button, byHand };
}
