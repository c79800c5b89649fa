// The fixes that were proposed for a failed stage, newest first. Nothing is shown before the first one.
import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { fixesQuery } from "@/api/fix";
import type { Analysis, Fix, Me } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { fix as texts } from "@/texts/en/fix";
import { FixItem } from "./FixItem";

type Props = {
  org: string;
  /** The slug of the pipeline. */
  pipeline: string;
  deployment: string;
  /** Those of the stage, also of its earlier attempts. */
  analyses: readonly Analysis[];
  me: Pick<Me, "userId" | "role"> | undefined;
};

export function Fixes({ org, pipeline, deployment, analyses, me }: Props) {
  const queries = analyses.map(({ id }) => fixesQuery(org, deployment, id));
  const { fixes, failed } = useQueries({ queries, combine });
  return (
    <>
      {failed && <ProblemPanel error={failed.error} onRetry={() => void failed.refetch()} />}
      {fixes.length > 0 && (
        <section aria-label={texts.title}>
          <h4 className="text-14 font-bold">{texts.title}</h4>
          <ul>
            {fixes.map((fix) => (
              <FixItem key={fix.id} org={org} pipeline={pipeline} fix={fix} me={me} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function combine(results: UseQueryResult<Fix[]>[]) {
  const fixes = results.flatMap(({ data }) => data ?? []);
  return {
    fixes: fixes.toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt)),
    failed: results.find(({ error, data }) => error && !data),
  };
}
