// The steps of a stage, and its earlier attempts.
import { useQuery } from "@tanstack/react-query";
import { attemptsQuery } from "@/api/deployment";
import type { Stage, StepRun } from "@/api/types";
import { cx } from "@/lib/classes";
import { paths } from "@/lib/paths";
import { actors } from "@/texts/en/actors";
import { reasonWords } from "@/texts/en/deployment";
import { deployment as texts } from "@/texts/en/deployments";
import { StateMark } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { workState } from "@/ui/state";
import { whoOf } from "./actors";
import { Inputs } from "./Inputs";
import { Overridden } from "./Overridden";
import { causeOf } from "./pick";
import { spanText } from "./span";

type Props = {
  org: string;
  pipeline: string;
  deployment: string;
  stage: Stage;
  stages: readonly Stage[];
  current: string | undefined;
};

export function StageSteps({ org, pipeline, deployment, stage, stages, current }: Props) {
  const attempts = useQuery({ ...attemptsQuery(org, deployment, stage.key), enabled: stage.attempt > 1 });
  const reason = stage.detail ?? (stage.reason ? reasonWords[stage.reason] : undefined);
  const cause = causeOf(stage, stages);
  const older = (attempts.data ?? []).filter(({ attempt }) => attempt !== stage.attempt);
  const step = (run: StepRun) => (
    <li key={run.id}>
      <Link
        to={paths.deployment(org, deployment, { stage: stage.key, step: run.id })}
        aria-current={run.id === current ? "true" : undefined}
        className={cx(
          "flex min-h-row items-center gap-2 rounded-4 px-2",
          run.id === current ? "bg-raised" : "hover:bg-surface",
        )}
      >
        <StateMark state={workState(run.status)} word={run.name} />
        <span className="sr-only">{workState(run.status).word}</span>
        <span className="ml-auto font-mono text-12 text-ink3">{tookOf(run)}</span>
      </Link>
    </li>
  );
  return (
    <section aria-label={texts.steps} className="mb-4">
      {stage.environment && (
        <p className="mb-2 text-13 text-ink2">
          {texts.deploysTo}{" "}
          <Link to={paths.lastingEnvironment({ org, pipeline, name: stage.environment })} className="underline">
            {stage.environment}
          </Link>
        </p>
      )}
      {reason && <p className="mb-2 text-ink2">{reason}</p>}
      {cause && (
        <p className="mb-2 text-13 text-ink2">
          {texts.becauseOf}{" "}
          <Link to={paths.deployment(org, deployment, { stage: cause.key })} className="underline">
            <StateMark state={workState(cause.status)} word={cause.name} />
          </Link>
        </p>
      )}
      {stage.retriedBy && <p className="mb-2 text-13 text-ink2">{actors.retried(whoOf(stage.retriedBy))}</p>}
      {stage.canceledBy && <p className="mb-2 text-13 text-ink2">{actors.canceled(whoOf(stage.canceledBy))}</p>}
      {stage.gateOverridden && <Overridden override={stage.gateOverridden} />}
      <Inputs inputs={stage.inputs} />
      {stage.steps.length === 0 && <p className="text-ink2">{texts.noSteps}</p>}
      <ul>{stage.steps.map(step)}</ul>
      {older.map((attempt) => (
        <details key={attempt.attempt}>
          <summary className="min-h-row py-1.5 text-13 text-ink2">
            {texts.attempt(attempt.attempt)} <StateMark state={workState(attempt.status)} />{" "}
            {attempt.reason && reasonWords[attempt.reason]}
          </summary>
          <Inputs inputs={attempt.inputs} />
          <ul>{attempt.steps.map(step)}</ul>
        </details>
      ))}
    </section>
  );
}

function tookOf(run: StepRun): string {
  return run.endedAt ? spanText(run, 0) : "";
}
