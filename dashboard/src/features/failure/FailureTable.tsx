// Failures as a table. Lists of one fingerprint leave out what all of them share.
import { useQuery } from "@tanstack/react-query";
import { meQuery } from "@/api/me";
import { pipelinesQuery } from "@/api/pipeline";
import type { Failure } from "@/api/types";
import { shortCommit, shortId } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { failures as texts, panel } from "@/texts/en/failure";
import { ago, full } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { type Column, Table } from "@/ui/Table";
import { verdictState } from "@/ui/verdict";
import { LogText } from "@/ui/LogText";

type Props = { org: string; label: string; failures: readonly Failure[]; areEqual?: boolean };

export function FailureTable({ org, label, failures, areEqual = false }: Props) {
  const now = useNow("half-minute");
  const me = useQuery(meQuery(org)).data?.userId;
  const pipelines = useQuery(pipelinesQuery(org)).data?.data ?? [];
  const nameOf = (id: string) => pipelines.find((pipeline) => pipeline.id === id)?.name ?? shortId(id);
  const place = (failure: Failure) => (
    <Link
      to={paths.deployment(org, failure.deploymentId, { stage: failure.stage })}
      className="wrap-anywhere hover:underline"
    >
      {panel.place(failure.stage, failure.step)}
    </Link>
  );
  const columns: Column<Failure>[] = [
    { name: texts.place, phone: true, cell: place },
    { name: texts.pipeline, cell: ({ pipelineId }) => nameOf(pipelineId) },
    {
      name: texts.verdict,
      phone: true,
      tight: true,
      cell: ({ verdict, createdBy }) =>
        verdict ? <StateMark state={verdictState(verdict, createdBy.id === me)} /> : null,
    },
    { name: texts.environment, cell: ({ environment }) => environment ?? "" },
    { name: texts.commit, cell: ({ commitId }) => <code className="text-12">{shortCommit(commitId)}</code> },
    { name: texts.by, cell: ({ createdBy }) => createdBy.name },
    {
      name: texts.when,
      phone: true,
      tight: true,
      cell: ({ failedAt }) => (
        <span className="text-13 text-ink2" title={full(Date.parse(failedAt))}>
          {ago(Date.parse(failedAt), now)}
        </span>
      ),
    },
  ];
  const line: Column<Failure> = {
    name: texts.line,
    phone: true,
    line: true,
    cell: (row) => <Line org={org} row={row} />,
  };
  const shown = areEqual ? columns : [line, ...columns];
  return <Table label={label} columns={shown} rows={failures} rowKey={({ id }) => id} />;
}

function Line({ org, row }: { org: string; row: Failure }) {
  if (row.status === "collecting" || !row.fingerprint) return <span className="text-ink2">{texts.collecting}</span>;
  return (
    <Link to={paths.failure(org, row.fingerprint)} className="line-clamp-2 font-mono text-12 hover:underline">
      <LogText text={row.line ?? row.fingerprint} />
    </Link>
  );
}
