// What is live in an environment, and which deployment works there.
import type { LastingEnvironment } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { lastingPage as texts } from "@/texts/en/lasting";
import { full } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Who } from "@/ui/Face";
import { Link } from "@/ui/Link";
import { lastingState, workState } from "@/ui/state";
import { Facts } from "@/ui/Table";
import { RollbackMark } from "@/ui/RollbackMark";

type Props = { org: string; environment: LastingEnvironment; now: number };

export function LiveCard({ org, environment: { live, slot, waiting }, now }: Props) {
  return (
    <section aria-label={texts.live} className="door flex flex-col gap-3 border border-line bg-raised p-4">
      {live ? <Live org={org} live={live} now={now} /> : <p className="text-ink2">{texts.nothingLive}</p>}
      <div className="flex flex-col gap-1 border-t border-line pt-3 text-13 text-ink2">
        {slot ? (
          <p className="flex flex-wrap items-center gap-x-2">
            <StateMark
              state={workState(slot.since ? "running" : "queued")}
              word={(slot.since ? texts.slotWorks : texts.slotIsNext)(slot.by.name, shortCommit(slot.commitId))}
            />
            <Link to={paths.deployment(org, slot.deploymentId)} className="underline">
              {texts.showDeployment}
            </Link>
          </p>
        ) : (
          <p>{texts.nobodyWorks}</p>
        )}
        {waiting > 0 && (
          <Link to={paths.deployments(org, { status: "waiting" })} className="underline">
            <StateMark state={workState("waiting")} word={texts.waiting(waiting)} />
          </Link>
        )}
      </div>
    </section>
  );
}

function Live({ org, live, now }: { org: string; live: NonNullable<LastingEnvironment["live"]>; now: number }) {
  const at = timeOf(live.at) ?? now;
  const facts = [
    { name: texts.by, value: <Who name={live.by.name} kind="user" /> },
    { name: texts.since, value: <span title={full(at)}>{texts.sinceText(at, now)}</span> },
    ...(live.branch ? [{ name: texts.branch, value: <code className="text-12">{live.branch}</code> }] : []),
  ];
  return (
    <>
      <h2 className="flex flex-wrap items-center gap-x-2 text-20">
        <StateMark state={lastingState("live")} />
        <Link to={paths.deployment(org, live.deploymentId)} className="underline">
          <code>{shortCommit(live.commitId)}</code>
        </Link>
        {live.rollback && <RollbackMark />}
      </h2>
      <Facts facts={facts} />
    </>
  );
}
