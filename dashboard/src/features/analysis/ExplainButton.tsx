// Requests an explanation by the model of the organization. Only admins can read whether there is one, so everyone who may
// request it has the button, and reads the server's answer below it.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { requestExplanation } from "@/api/analysis";
import { keys } from "@/api/keys";
import { Problem } from "@/api/problem";
import type { FailureEvidence, Me } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { hasRole } from "@/lib/roles";
import { useNow } from "@/lib/ticker";
import { budgetSentence, explanation as texts } from "@/texts/en/analysis";
import { Button } from "@/ui/Button";
import { Link } from "@/ui/Link";

type Props = { org: string; deployment: string; failure: FailureEvidence; me: Pick<Me, "role"> | undefined };

export function ExplainButton({ org, deployment, failure, me }: Props) {
  const queries = useQueryClient();
  const request = useMutation({
    mutationFn: () => requestExplanation(org, deployment, failure.stage),
    // Busy until the new analysis is shown.
    onSettled: () => queries.invalidateQueries({ queryKey: keys.evidence(org, deployment) }),
  });
  const why = me && !hasRole(me.role, "developer") ? texts.developersOnly : undefined;
  return (
    <>
      <Button title={texts.hint} why={why} busy={request.isPending} onClick={() => request.mutate()}>
        {texts.action}
      </Button>
      {request.error && (
        // On a separate line.
        <div className="w-full">
          <Refusal org={org} error={request.error} isAdmin={me !== undefined && hasRole(me.role, "admin")} />
        </div>
      )}
    </>
  );
}

function Refusal({ org, error, isAdmin }: { org: string; error: unknown; isAdmin: boolean }) {
  const now = useNow("half-minute");
  const code = error instanceof Problem ? error.code : undefined;
  if (error instanceof Problem && code === "budget_exhausted") {
    const { budget, resetsAt } = error.body;
    const at = typeof resetsAt === "string" ? timeOf(resetsAt) : undefined;
    return (
      <p role="alert" className="max-w-prose text-amber">
        {budgetSentence(typeof budget === "string" ? budget : undefined, at, now)}
      </p>
    );
  }
  if (code !== "analysis_disabled") return <ProblemPanel error={error} />;
  return (
    <p role="alert" className="max-w-prose text-ink2">
      {texts.disabled}{" "}
      {isAdmin ? (
        <Link to={paths.analysisSettings(org)} className="underline">
          {texts.setUp}
        </Link>
      ) : (
        texts.disabledForOthers
      )}
    </p>
  );
}
