// What a model has written about a failure, and what can be done about it: propose a fix, see those that were proposed, request an
// explanation, and rate the analysis.
import { useQuery } from "@tanstack/react-query";
import { analysesQuery } from "@/api/analysis";
import { evidenceQuery } from "@/api/failure";
import { meQuery } from "@/api/me";
import type { Deployment, FailureEvidence } from "@/api/types";
import {
  analysisForFeedback,
  Attempt,
  ExplainButton,
  Explanation,
  explanationsOf,
  Feedback,
} from "@/features/analysis";
import { Fixes, ProposeButton } from "@/features/fix";
import { ProblemPanel } from "@/features/problem";

type Props = { org: string; deployment: Deployment; failure: FailureEvidence; name: string };

export function FailureActions({ org, deployment, failure, name }: Props) {
  const me = useQuery(meQuery(org)).data;
  const { data, error, refetch } = useQuery(analysesQuery(org, deployment.id));
  const analyses = data ?? [];
  const rated = analysisForFeedback(analyses, failure.id);
  const ofStage = analyses.filter(({ stage }) => stage === failure.stage);
  const model = useQuery(evidenceQuery(org, deployment.id)).data?.model;
  const { attempt, explained } = explanationsOf(analyses, failure.id);
  const ids = { org, deployment: deployment.id, failure, me };
  // The same failure gets the same explanation for days, so it is requested once.
  const isRequestable = data !== undefined && !explained && attempt?.status !== "analyzing";
  return (
    <div className="flex flex-col gap-3">
      {error && !data && <ProblemPanel error={error} onRetry={() => void refetch()} />}
      {attempt && <Attempt org={org} analysis={attempt} me={me} />}
      {explained && <Explanation {...ids} analysis={explained} />}
      {ofStage.length > 0 && (
        <Fixes org={org} pipeline={deployment.pipeline} deployment={deployment.id} analyses={ofStage} me={me} />
      )}
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <ProposeButton {...ids} name={name} />
        {isRequestable && model && <ExplainButton {...ids} model={model} />}
        {rated && me && <Feedback org={org} analysis={rated} me={me} />}
      </div>
    </div>
  );
}
