// The head of a failed deployment: why each of its stages has failed.
import { usePrefetchQuery, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { analysesQuery } from "@/api/analysis";
import { evidenceQuery } from "@/api/failure";
import { meQuery } from "@/api/me";
import { Problem } from "@/api/problem";
import type { Deployment } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { panel as texts } from "@/texts/en/failure";
import { Link } from "@/ui/Link";
import { FailureBlock } from "./FailureBlock";
import { useBundle } from "./useBundle";

type Props = {
  org: string;
  deployment: Deployment;
  /** What is known without the evidence: shown while it is read, and if it can't be. */
  fallback: ReactNode;
  /** The stand-in for the panel while it is read. */
  skeleton: ReactNode;
  /** What can be done about the failure of a stage, besides what the page offers. */
  actionsOf: (stage: string) => ReactNode;
};

export function FailurePanel({ org, deployment, fallback, skeleton, actionsOf }: Props) {
  const me = useQuery(meQuery(org)).data?.userId;
  const evidence = useQuery(evidenceQuery(org, deployment.id));
  // Read at the same time as the evidence, so that what is shown of both hardly moves the page twice.
  usePrefetchQuery(analysesQuery(org, deployment.id));
  const bundle = useBundle({ org, deployment: deployment.id });
  const { data, error } = evidence;
  if (error instanceof Problem && error.code === "evidence_expired")
    return (
      <>
        {fallback}
        <Expired org={org} problem={error} />
      </>
    );
  if (error && !data)
    return (
      <>
        {fallback}
        <div className="mb-4">
          <ProblemPanel error={error} onRetry={() => void evidence.refetch()} />
        </div>
      </>
    );
  if (!data) return skeleton;
  // Stages that failed before failures were recorded.
  if (data.failures.length === 0) return fallback;
  return (
    <section aria-label={texts.title} className="mb-4">
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h2 className="text-16">{texts.title}</h2>
        <span className="ml-auto">{bundle.button}</span>
      </div>
      {bundle.byHand}
      {data.failures.map((failure) => (
        <FailureBlock
          key={failure.id}
          org={org}
          deployment={deployment}
          failure={failure}
          isMine={failure.createdBy.id === me}
          actions={data.failures.length > 1 && actionsOf(failure.stage)}
        />
      ))}
    </section>
  );
}

/** The evidence was deleted with the log. The decisive lines are still remembered. */
function Expired({ org, problem }: { org: string; problem: Problem }) {
  const { fingerprints } = problem.body;
  const known = Array.isArray(fingerprints) ? fingerprints.filter((value) => typeof value === "string") : [];
  return (
    <section aria-label={texts.title} className="door mb-4 border border-line bg-surface p-4">
      <h2 className="text-16">{texts.expiredTitle}</h2>
      <p className="text-ink2">{texts.expired}</p>
      <ul>
        {[...new Set(known)].map((fingerprint) => (
          <li key={fingerprint}>
            <Link to={paths.failure(org, fingerprint)} className="underline">
              {texts.all}
            </Link>{" "}
            <code className="text-12 text-ink3">{fingerprint}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
