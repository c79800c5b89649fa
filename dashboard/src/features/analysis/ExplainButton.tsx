// Requests an explanation by the model of the organization.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { requestExplanation } from "@/api/analysis";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import type { AvailableModel, FailureEvidence, Me } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { hasRole } from "@/lib/roles";
import { useNow } from "@/lib/ticker";
import { visible } from "@/lib/visible";
import { budgetSentence, explanation as texts } from "@/texts/en/analysis";
import { Button } from "@/ui/Button";

type Props = {
  org: string;
  deployment: string;
  failure: FailureEvidence;
  model: AvailableModel;
  me: Pick<Me, "role"> | undefined;
};

export function ExplainButton({ org, deployment, failure, model, me }: Props) {
  const queries = useQueryClient();
  const request = useMutation({
    mutationFn: () => requestExplanation(org, deployment, failure.stage),
    // Busy until the new analysis is shown.
    onSettled: () => queries.invalidateQueries({ queryKey: keys.evidence(org, deployment) }),
  });
  const why = me && !hasRole(me.role, "developer") ? texts.developersOnly : undefined;
  return (
    <>
      <Button
        title={texts.hint(visible(model.name), model.host)}
        why={why}
        busy={request.isPending}
        onClick={() => request.mutate()}
      >
        {texts.action}
      </Button>
      {request.error && (
        // On a separate line.
        <div className="w-full">
          <Refusal error={request.error} />
        </div>
      )}
    </>
  );
}

function Refusal({ error }: { error: unknown }) {
  const now = useNow("half-minute");
  if (!(error instanceof Problem) || error.code !== "budget_exhausted") return <ProblemPanel error={error} />;
  const { budget, resetsAt } = error.body;
  const at = typeof resetsAt === "string" ? timeOf(resetsAt) : undefined;
  return (
    <p role="alert" className="max-w-prose text-amber">
      {budgetSentence(typeof budget === "string" ? budget : undefined, at, now)}
    </p>
  );
}
