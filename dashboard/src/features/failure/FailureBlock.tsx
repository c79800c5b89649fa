// One failed stage: the line that shows best why, the lines around it, and what is known about it.
import { type ReactNode, Suspense } from "react";
import type { Deployment, FailureEvidence } from "@/api/types";
import { cx } from "@/lib/classes";
import { timeOf } from "@/lib/countdown";
import { shortCommit } from "@/lib/ids";
import { lazily } from "@/lib/lazily";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { endedText, panel as texts } from "@/texts/en/failure";
import { clock, full, took } from "@/texts/en/time";
import { Link } from "@/ui/Link";
import { toneSoft } from "@/ui/tone";
import { EvidenceLines } from "./EvidenceLines";
import { FailureFacts } from "./FailureFacts";
import { LogText } from "@/ui/LogText";

const FailureActions = lazily(() => import("./FailureActions"), "FailureActions");

type Props = { org: string; deployment: Deployment; failure: FailureEvidence; isMine: boolean; actions: ReactNode };

export function FailureBlock({ org, deployment, failure, isMine, actions }: Props) {
  const now = useNow("half-minute");
  const stage = deployment.stages?.find(({ key }) => key === failure.stage);
  const name = texts.place(stage?.name ?? failure.stage, failure.step);
  const step = failure.stepRunId ?? undefined;
  const pathOf = (line: number) => paths.deployment(org, deployment.id, { stage: failure.stage, step }, { from: line });
  const failedAt = Date.parse(failure.failedAt);
  const line = failure.decisiveLine;
  return (
    <section aria-label={name} className="door mb-3 overflow-hidden border border-line bg-surface">
      <header
        className={cx(
          "flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-2",
          toneSoft[stage?.status === "errored" ? "orange" : "red"],
        )}
      >
        <h3 className="text-16 wrap-anywhere">{name}</h3>
        <span className="font-strong">{endedText(failure.exitCode, failure.reason, tookOf(stage, step))}</span>
        <span className="text-13 wrap-anywhere text-ink2" title={full(failedAt)}>
          {failure.environment && `${failure.environment} · `}
          <code className="text-12">{shortCommit(failure.commitId)}</code>
          {` · ${failure.createdBy.name} · ${clock(failedAt, now)}`}
        </span>
        {actions && <span className="ml-auto self-center">{actions}</span>}
      </header>
      <div className="px-4 py-3">
        {failure.status === "collecting" ? (
          <p role="status" className="text-ink2">
            {texts.collecting}
          </p>
        ) : (
          <>
            {line && (
              <p className="flex gap-3 font-mono text-13 font-strong">
                {line.line > 0 && (
                  <Link
                    to={pathOf(line.line)}
                    aria-label={texts.line(line.line)}
                    className="shrink-0 text-ink2 underline"
                  >
                    {line.line}
                  </Link>
                )}
                <span className="min-w-0">
                  <LogText text={line.text} />
                </span>
              </p>
            )}
            {!failure.log && <p className="text-13 text-ink2">{texts.noLog}</p>}
            <EvidenceLines org={org} deployment={deployment.id} failure={failure} name={name} pathOf={pathOf} />
            <div className="mt-3">
              <FailureFacts org={org} failure={failure} isMine={isMine} />
            </div>
            <div className="mt-3 border-t border-line pt-3">
              <Suspense fallback={<div className="min-h-row" />}>
                <FailureActions org={org} deployment={deployment} failure={failure} name={name} />
              </Suspense>
            </div>
          </>
        )}
      </div>
    </section>
  );
}

/** How long the step ran, if it is one of the newest attempt and has ended. */
function tookOf(stage: NonNullable<Deployment["stages"]>[number] | undefined, step: string | undefined) {
  const run = stage?.steps.find(({ id }) => id === step);
  const [start, end] = [timeOf(run?.startedAt), timeOf(run?.endedAt)];
  return start === undefined || end === undefined ? undefined : took(end - start);
}
