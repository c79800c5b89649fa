// What can be done about a failure: propose a fix, see those that were proposed, and rate the analysis.
import { useQuery } from "@tanstack/react-query";
import { analysesQuery } from "@/api/analysis";
import { meQuery } from "@/api/me";
import type { Deployment, FailureEvidence } from "@/api/types";
import { analysisForFeedback, Feedback } from "@/features/analysis";
import { Fixes, ProposeButton } from "@/features/fix";
import { ProblemPanel } from "@/features/problem";

type Props = { org: string; deployment: Deployment; failure: FailureEvidence; name: string };

export function FailureActions({ org, deployment, failure, name }: Props) {
  const me = useQuery(meQuery(org)).data;
  const { data: analyses = [], error, refetch } = useQuery(analysesQuery(org, deployment.id));
  const rated = analysisForFeedback(analyses, failure.id);
  const ofStage = analyses.filter(({ stage }) => stage === failure.stage);
  return (
    <div className="flex flex-col gap-3">
      {error && analyses.length === 0 && <ProblemPanel error={error} onRetry={() => void refetch()} />}
      {ofStage.length > 0 && (
        <Fixes org={org} pipeline={deployment.pipeline} deployment={deployment.id} analyses={ofStage} me={me} />
      )}
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <ProposeButton org={org} deployment={deployment.id} failure={failure} name={name} me={me} />
        {rated && me && <Feedback org={org} analysis={rated} me={me} />}
      </div>
    </div>
  );
}
