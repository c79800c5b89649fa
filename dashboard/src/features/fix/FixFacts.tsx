// Where a fix was verified, and its pull request.
import type { ReactNode } from "react";
import type { Fix } from "@/api/types";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { fix as texts } from "@/texts/en/fix";
import { StateMark } from "@/ui/Badge";
import { Link, OuterLink } from "@/ui/Link";
import { workState } from "@/ui/state";
import { Facts } from "@/ui/Table";
import { isReproductionLeftOut, type Outcome, reproductionOf, type Run, verificationsOf } from "./runs";

type Props = { org: string; pipeline: string; fix: Fix };

export function FixFacts({ org, pipeline, fix }: Props) {
  const { envName, sessionId, pullRequest } = fix;
  const red = reproductionOf(fix);
  const runs = verificationsOf(fix);
  const [failing, fixed] = [shortCommit(fix.failingCommitId), shortCommit(fix.commitId)];
  const at = envName ? { org, pipeline, env: envName } : undefined;
  const facts: (false | undefined | null | { name: string; value: ReactNode })[] = [
    red && { name: texts.without, value: <RunLink org={org} run={red} word={texts.deploymentOf(failing)} /> },
    isReproductionLeftOut(fix) && { name: texts.without, value: texts.notRepeated },
    runs.length > 0 && {
      name: texts.with,
      value: (
        <span className="flex flex-wrap gap-x-4 gap-y-1">
          {runs.map((run, index) => (
            <RunLink
              key={run.deployment}
              org={org}
              run={run}
              word={fix.runs > 1 ? texts.run(index + 1, fixed) : texts.deploymentOf(fixed)}
            />
          ))}
        </span>
      ),
    },
    at && {
      name: texts.environment,
      value: (
        <>
          <Link to={paths.environment(at)} className="underline">
            {at.env}
          </Link>
          {sessionId && (
            <>
              {", "}
              <Link to={paths.session(at, sessionId)} className="underline">
                {texts.session}
              </Link>
            </>
          )}
        </>
      ),
    },
    pullRequest && {
      name: texts.pullRequest,
      value: (
        <OuterLink href={pullRequest.url} className="underline">
          {texts.number(pullRequest.number)}
        </OuterLink>
      ),
    },
  ];
  const known = facts.filter((fact) => typeof fact === "object" && fact !== null);
  return known.length > 0 ? (
    <div className="mt-2">
      <Facts facts={known} />
    </div>
  ) : null;
}

const STATES: Record<NonNullable<Outcome>, string> = { red: "failed", green: "succeeded", running: "running" };

function RunLink({ org, run, word }: { org: string; run: Run; word: string }) {
  const { deployment, outcome } = run;
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      {outcome && <StateMark state={workState(STATES[outcome])} word={texts.outcomes[outcome]} />}
      <Link to={paths.deployment(org, deployment)} className="underline">
        {word}
      </Link>
    </span>
  );
}
