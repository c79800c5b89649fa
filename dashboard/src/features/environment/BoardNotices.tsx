// Notices above the board: the pipeline is stopped, there are no environments yet.
import type { Pipeline, Role } from "@/api/types";
import { useResume } from "@/features/pipeline";
import { shortId } from "@/lib/ids";
import { hasRole } from "@/lib/roles";
import { environment as texts } from "@/texts/en/environment";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Bar } from "@/ui/Lamp";

type StoppedProps = { org: string; pipeline: Pipeline; stop: NonNullable<Pipeline["stop"]>; role: Role };

export function StoppedBar({ org, pipeline, stop, role }: StoppedProps) {
  const resume = useResume(org);
  const who = stop.byName ?? shortId(stop.by);
  return (
    <Bar tone="amber">
      <span>{stop.reason ? texts.stopped(who, stop.reason) : texts.stoppedNoReason(who)}</span>
      {hasRole(role, "maintainer") && (
        <Button busy={resume.isPending} onClick={() => resume.mutate(pipeline)}>
          {texts.resume}
        </Button>
      )}
    </Bar>
  );
}

export function EmptyBoard() {
  return (
    <Empty
      title={texts.emptyTitle}
      text={
        <>
          <p>{texts.emptyText}</p>
          <pre className="mt-2 overflow-x-auto rounded-4 bg-sunken p-3 font-mono text-12">{texts.emptyLines}</pre>
        </>
      }
    />
  );
}
