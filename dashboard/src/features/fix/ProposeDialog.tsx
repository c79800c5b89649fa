// Proposes a commit as the fix of a failure. A fix refers to an analysis, so one is requested if there is none.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { analysesQuery, createAnalysis } from "@/api/analysis";
import { createFix } from "@/api/fix";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import type { FailureEvidence, Fix } from "@/api/types";
import { analysisFor } from "@/features/analysis";
import { propose as texts } from "@/texts/en/fix";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { CodeField } from "@/ui/Field";
import { showToast } from "@/ui/toasts";
import { type Form, type Mistake, mistakesOf, requestOf } from "./form";
import { Refusal } from "./Refusal";

type Props = { org: string; deployment: string; failure: FailureEvidence; name: string; onClose: () => void };

export function ProposeDialog({ org, deployment, failure, name, onClose }: Props) {
  const queries = useQueryClient();
  const [form, setForm] = useState<Form>({ commit: "", branch: "" });
  const [isTouched, setTouched] = useState(false);
  const mistakes = mistakesOf(form, failure.commitId);
  const send = useMutation({
    mutationFn: async (): Promise<Fix> => {
      const analyses = await queries.fetchQuery({ ...analysesQuery(org, deployment), staleTime: 0 });
      const analysis = analysisFor(analyses, failure.id) ?? (await createAnalysis(org, deployment, failure.stage));
      return createFix(org, analysis.id, requestOf(form));
    },
    onSuccess: () => {
      onClose();
      showToast({ title: texts.requested });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.evidence(org, deployment) }),
  });
  const problem = send.error instanceof Problem ? send.error : undefined;
  const errorOf = (mistake: Mistake) => (isTouched && mistakes.includes(mistake) ? texts.mistakes[mistake] : undefined);
  return (
    <Dialog open onClose={onClose} title={texts.title(name)} description={texts.text}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setTouched(true);
          if (mistakes.length === 0 && !send.isPending) send.mutate();
        }}
      >
        <CodeField
          label={texts.commit}
          hint={texts.commitHint}
          maxLength={80}
          error={errorOf("commit") ?? errorOf("failing") ?? problem?.field("/commitId")}
          value={form.commit}
          onChange={(event) => setForm({ ...form, commit: event.target.value })}
        />
        <CodeField
          label={texts.branch}
          hint={texts.branchHint}
          maxLength={255}
          error={errorOf("branch") ?? problem?.field("/branch")}
          value={form.branch}
          onChange={(event) => setForm({ ...form, branch: event.target.value })}
        />
        {send.error && <Refusal org={org} error={send.error} onLeave={onClose} />}
        <Button type="submit" look="primary" busy={send.isPending} className="self-start max-md:w-full">
          {texts.submit}
        </Button>
      </form>
    </Dialog>
  );
}
