// One environment as a row of 40 px, for boards with many of them.
import { memo } from "react";
import { paths } from "@/lib/paths";
import { environment as texts } from "@/texts/en/environment";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Countdown } from "@/ui/Countdown";
import { Who } from "@/ui/Face";
import { Link } from "@/ui/Link";
import { environmentState } from "@/ui/state";
import { actionsOf, type Verb } from "./actions";
import { DeploymentInfo } from "./EnvironmentCard";
import { leaseOf } from "./lease";
import { idOf, type Shown, type Viewer, viewOf } from "./view";

type Props = {
  org: string;
  pipeline: string;
  environment: Shown;
  viewer: Viewer;
  busy: boolean;
  onAct: (verb: Verb, env: string) => void;
  onExpired: (env: string) => void;
};

export const ROW_HEIGHT = 40;

export const EnvironmentRow = memo(function EnvironmentRow({
  org,
  pipeline,
  environment,
  viewer,
  busy,
  onAct,
  onExpired,
}: Props) {
  const view = viewOf(environment, viewer);
  const lease = leaseOf(environment, view);
  const { envName, lock, template } = environment;
  const id = idOf(environment);
  const first = actionsOf(environment, view, viewer)[0];
  return (
    <div
      data-env={id}
      className="grid h-10 grid-cols-[minmax(0,2fr)_auto_auto] items-center gap-3 border-b border-line px-2 md:grid-cols-[minmax(0,2fr)_120px_minmax(0,2fr)_130px_minmax(0,2fr)_80px]"
    >
      <span className="truncate">
        <Link
          to={template ? paths.pipeline(org, pipeline) : paths.environment({ org, pipeline, env: envName })}
          data-env-link=""
          className="font-strong hover:underline"
        >
          {envName}
        </Link>
        {environment.pipeline && <span className="ml-2 text-13 text-ink3">{pipeline}</span>}
      </span>
      <span>
        <Badge state={environmentState(view.state, view.place?.position)} />
      </span>
      <span className="min-w-0 max-md:hidden">
        {lock.holder && <Who name={lock.holder.name} kind={lock.holder.kind} mine={lock.holder.id === viewer.userId} />}
      </span>
      <span className="truncate font-mono text-12 text-ink3 max-md:hidden">
        {lease && (
          <Countdown until={lease.endsAt} onEnd={() => onExpired(id)}>
            {(left) => texts.left(left)}
          </Countdown>
        )}
      </span>
      <span className="flex min-w-0 items-center gap-2 overflow-hidden whitespace-nowrap max-md:hidden">
        <DeploymentInfo org={org} environment={environment} />
      </span>
      {first && (
        <Button
          look={first.primary ? "primary" : "plain"}
          why={first.why}
          busy={busy}
          className="min-h-8!"
          onClick={() => onAct(first.verb, id)}
        >
          {first.label}
          <span className="sr-only"> {envName}</span>
        </Button>
      )}
    </div>
  );
});
