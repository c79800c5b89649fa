// Deployments as a table.
import type { Deployment } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { deployments as texts } from "@/texts/en/deployments";
import { ago } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { RollbackMark } from "@/ui/RollbackMark";
import { TeardownMark } from "@/ui/TeardownMark";
import { deploymentState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";
import { spanText } from "./span";

type Props = { org: string; deployments: readonly Deployment[] };

export function DeploymentTable({ org, deployments }: Props) {
  const now = useNow("half-minute");
  return <Table label={texts.title} columns={columns(org, now)} rows={deployments} rowKey={(row) => row.id} />;
}

export function columns(org: string, now: number): Column<Deployment>[] {
  return [
    {
      name: texts.state,
      phone: true,
      cell: (row) => (
        <Link to={paths.deployment(org, row.id)} className="hover:underline">
          <StateMark state={deploymentState(row)} />
        </Link>
      ),
    },
    {
      name: texts.commit,
      phone: true,
      cell: (row) => (
        <span className="inline-flex items-center gap-2">
          <code className="text-12">{shortCommit(row.commitId)}</code>
          {row.rollback && <RollbackMark />}
          {row.purpose === "teardown" && <TeardownMark />}
        </span>
      ),
    },
    {
      name: texts.environment,
      phone: true,
      cell: (row) =>
        row.envName ?? (
          <span className="text-ink3">
            <span className="text-ink md:hidden">{row.pipeline}, </span>
            {texts.wholePipeline}
          </span>
        ),
    },
    { name: texts.pipeline, cell: (row) => row.pipeline },
    { name: texts.by, cell: (row) => row.createdBy.name },
    { name: texts.when, cell: (row) => <span className="text-13 text-ink2">{agoText(row.createdAt, now)}</span> },
    {
      name: texts.took,
      end: true,
      cell: (row) => <span className="font-mono text-12 text-ink2">{spanText(row, now)}</span>,
    },
  ];
}

function agoText(value: string, now: number): string {
  const time = timeOf(value);
  return time === undefined ? "" : ago(time, now);
}
