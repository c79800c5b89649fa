// One environment in the table: its state, what is live, since when and by whom, who works there, and what waits.
import { Hourglass } from "lucide-react";
import type { ReactNode } from "react";
import type { LastingEnvironment } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { lasting as texts } from "@/texts/en/lasting";
import { ago, full } from "@/texts/en/time";
import { Badge, StateMark } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { lastingState, workState } from "@/ui/state";
import { RollbackMark } from "@/ui/RollbackMark";
import { freezeOf, holdOf, statesOf } from "./state";

type Props = { org: string; environment: LastingEnvironment; now: number };

export function Cell({ org, environment, now }: Props) {
  const { name, pipelineSlug: pipeline, live, slot, waiting } = environment;
  const hold = holdOf(environment, now);
  const freeze = freezeOf(environment, now);
  const liveAt = timeOf(live?.at);
  const states = statesOf(environment, now);
  return (
    <div className="flex flex-col items-start gap-1 text-13 text-ink2">
      <Link
        to={paths.lastingEnvironment({ org, pipeline, name })}
        className="flex min-h-6 flex-wrap items-center gap-1.5 hover:underline"
      >
        <span className="text-14 font-strong text-ink md:sr-only">{name}</span>
        {states.map((state) => (
          <Badge key={state} state={lastingState(state)} />
        ))}
        {states.length === 0 && <span className="text-ink3">{texts.nothingLive}</span>}
      </Link>
      {live && (
        <Line>
          <Link to={paths.deployment(org, live.deploymentId)} className="text-ink underline">
            <code className="text-12">{shortCommit(live.commitId)}</code>
          </Link>
          <span title={liveAt === undefined ? undefined : full(liveAt)}>
            {texts.since(liveAt === undefined ? "" : ago(liveAt, now), live.by.name)}
          </span>
          {live.rollback && <RollbackMark />}
        </Line>
      )}
      {slot && (
        <Line>
          <Link to={paths.deployment(org, slot.deploymentId)} className="hover:underline">
            <StateMark
              state={workState(slot.since ? "running" : "queued")}
              word={slot.since ? texts.working(slot.by.name) : texts.about(slot.by.name)}
            />{" "}
            <code className="text-12 text-ink underline">{shortCommit(slot.commitId)}</code>
          </Link>
        </Line>
      )}
      {hold && <p>{texts.heldUntil(hold.by.name, timeOf(hold.until) ?? now, now)}</p>}
      {freeze && (
        <Link to={paths.freezes(org)} className="underline">
          {texts.frozenUntil(freeze.name, timeOf(freeze.until) ?? now, now)}
        </Link>
      )}
      {waiting > 0 && (
        <Link
          to={paths.deployments(org, { status: "waiting" })}
          className="inline-flex items-center gap-1.5 text-amber underline"
        >
          <Hourglass aria-hidden size={14} />
          {texts.waiting(waiting)}
        </Link>
      )}
    </div>
  );
}

function Line({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-x-2 gap-y-0.5">{children}</div>;
}
