// The runners: whether each takes jobs, what it does now, and when it was seen.
import type { Runner } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { common } from "@/texts/en/common";
import { runner as texts } from "@/texts/en/runner";
import { ago } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Link } from "@/ui/Link";
import { runnerState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";

type Props = { org: string; runners: readonly Runner[]; onRevoke: (runner: Runner) => void };

export function RunnerTable({ org, runners, onRevoke }: Props) {
  const now = useNow("half-minute");
  return <Table label={texts.runners} columns={columns(org, now, onRevoke)} rows={runners} rowKey={({ id }) => id} />;
}

function columns(org: string, now: number, onRevoke: (runner: Runner) => void): Column<Runner>[] {
  return [
    {
      name: texts.state,
      phone: true,
      cell: (runner) => <StateMark state={runnerState(runner.revokedAt ? "revoked" : runner.status)} />,
    },
    {
      name: texts.name,
      phone: true,
      cell: (runner) => (
        <span className="flex flex-col">
          <span className="font-strong">{runner.name}</span>
          <code className="text-12 text-ink3">{runner.hint}</code>
        </span>
      ),
    },
    { name: texts.pool, cell: (runner) => runner.pool },
    { name: texts.jobs, cell: (runner) => <Jobs org={org} jobs={runner.jobs ?? []} /> },
    { name: texts.seen, cell: (runner) => <span className="text-13 text-ink2">{seen(runner, now)}</span> },
    { name: texts.version, cell: (runner) => <code className="text-12">{runner.version}</code> },
    {
      name: common.actions,
      phone: true,
      end: true,
      cell: (runner) =>
        !runner.revokedAt && (
          <Button onClick={() => onRevoke(runner)}>
            {texts.revoke}
            <span className="sr-only"> {runner.name}</span>
          </Button>
        ),
    },
  ];
}

function Jobs({ org, jobs }: { org: string; jobs: NonNullable<Runner["jobs"]> }) {
  if (jobs.length === 0) return <span className="text-13 text-ink3">{texts.idle}</span>;
  return (
    <span className="flex flex-wrap gap-x-3">
      {jobs.map(({ jobId, deploymentId, stage }) => (
        <Link key={jobId} to={paths.deployment(org, deploymentId, { stage })} className="text-brand underline">
          {stage}
        </Link>
      ))}
    </span>
  );
}

function seen(runner: Runner, now: number): string {
  const time = timeOf(runner.lastSeenAt);
  return time === undefined ? texts.never : ago(time, now);
}
