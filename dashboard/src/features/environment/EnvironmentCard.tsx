// One environment as a door. It renders again only if its own record, or the person's role or place, changes.
import { memo } from "react";
import type { Environment } from "@/api/types";
import { cx } from "@/lib/classes";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { environment as texts } from "@/texts/en/environment";
import { ago, exact } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { DoorCard } from "@/ui/DoorCard";
import { Who } from "@/ui/Face";
import { Link } from "@/ui/Link";
import { environmentState } from "@/ui/state";
import { actionsOf, canNotify, type Verb } from "./actions";
import { configurationOf } from "./configuration";
import { deploymentLineOf } from "./deployment";
import { LeaseCountdown } from "./LeaseCountdown";
import { TellMe } from "./TellMe";
import { idOf, type Shown, type Viewer, viewOf } from "./view";

type Props = {
  org: string;
  pipeline: string;
  environment: Shown;
  viewer: Viewer;
  busy: boolean;
  onAct: (verb: Verb, env: string) => void;
  onExpired: (env: string) => void;
  /** The card is the head of the environment's own page. */
  page?: boolean;
};

export const EnvironmentCard = memo(function EnvironmentCard({
  org,
  pipeline,
  environment,
  viewer,
  busy,
  onAct,
  onExpired,
  page = false,
}: Props) {
  const view = viewOf(environment, viewer);
  const { envName, lock } = environment;
  const id = idOf(environment);
  return (
    <div data-env={id} className="h-full min-w-0 [contain-intrinsic-size:auto_219px] [content-visibility:auto]">
      <DoorCard
        door={view.door}
        name={envName}
        page={page}
        title={page ? envName : <DoorName org={org} pipeline={pipeline} environment={environment} />}
        state={environmentState(view.state, view.place?.position)}
        who={<Holder environment={environment} viewer={viewer} />}
        context={lock.status === "locked" ? lock.context : configurationOf(environment).description}
        lease={<LeaseCountdown environment={environment} view={view} onEnd={() => onExpired(id)} />}
        deployment={<DeploymentInfo org={org} environment={environment} />}
        actions={
          <>
            {actionsOf(environment, view, viewer).map(({ verb, label, primary, why }) => (
              <Button
                key={verb}
                look={primary ? "primary" : "plain"}
                why={why}
                busy={busy}
                onClick={() => onAct(verb, id)}
              >
                {label}
                <span className="sr-only"> {envName}</span>
              </Button>
            ))}
            {canNotify(view) && (
              <TellMe org={org} pipeline={pipeline} env={envName} onToggle={() => onAct("notify", id)} />
            )}
            {lock.queueLength > 0 && (
              <span className="ml-auto grow-0! font-mono text-12 whitespace-nowrap text-ink2">
                {texts.waiting(lock.queueLength)}
              </span>
            )}
          </>
        }
      />
    </div>
  );
});

function DoorName({ org, pipeline, environment }: Pick<Props, "org" | "pipeline" | "environment">) {
  const { envName, template } = environment;
  // There is no route for a template: only its environments have pages.
  const to = template ? paths.pipeline(org, pipeline) : paths.environment({ org, pipeline, env: envName });
  return (
    <>
      <Link to={to} className="hover:underline" data-env-link="">
        {envName}
      </Link>
      {environment.pipeline && (
        <Link
          to={paths.pipeline(org, pipeline)}
          className="ml-2 font-sans text-13 font-body tracking-normal text-ink3 hover:underline"
        >
          {pipeline}
        </Link>
      )}
    </>
  );
}

function Holder({ environment, viewer }: { environment: Shown; viewer: Viewer }) {
  const now = useNow("half-minute");
  const { lock, freeSince, workSlot } = environment;
  if (lock.status === "locked" && lock.holder) {
    return <Who name={lock.holder.name} kind={lock.holder.kind} mine={lock.holder.id === viewer.userId} />;
  }
  if (environment.template) return <p className="truncate leading-6 text-ink2">{texts.template}</p>;
  const since = timeOf(freeSince);
  const text =
    workSlot?.purpose === "teardown"
      ? texts.cleaningUp
      : since === undefined
        ? texts.neverUsed
        : texts.freeFor(now - since);
  return <p className="truncate leading-6 text-ink2">{text}</p>;
}

export function DeploymentInfo({ org, environment }: { org: string; environment: Environment }) {
  const line = deploymentLineOf(environment);
  if (!line) return null;
  return (
    <>
      <Link to={paths.deployment(org, line.id)} className="hover:underline">
        <StateMark state={line.state} word={line.word} /> <code className="text-12 text-ink2">{line.commit}</code>
      </Link>
      {line.startedAt !== undefined && <Elapsed since={line.startedAt} />}
      {line.endedAt !== undefined && <Ago time={line.endedAt} />}
    </>
  );
}

const META = "truncate text-13 text-ink3";

function Elapsed({ since }: { since: number }) {
  return <span className={cx(META, "tabular-nums")}>{exact(useNow("second") - since)}</span>;
}

function Ago({ time }: { time: number }) {
  return <span className={META}>{ago(time, useNow("half-minute"))}</span>;
}
