// The reads of a secret: which step of which deployment got which version, and when.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { secretReadsQuery } from "@/api/secret";
import type { SecretRead } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { shortId } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { secret as texts } from "@/texts/en/secret";
import { ago, full } from "@/texts/en/time";
import { Link } from "@/ui/Link";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { type Column, Table } from "@/ui/Table";

export function ReadTable({ org, secret }: { org: string; secret: string }) {
  const now = useNow("half-minute");
  const [offset, setOffset] = useState(0);
  const reads = useQuery({ ...secretReadsQuery(org, secret, offset), placeholderData: keepPreviousData });
  if (!reads.data)
    return reads.error ? (
      <ProblemPanel error={reads.error} onRetry={() => void reads.refetch()} />
    ) : (
      <SkeletonRows rows={3} />
    );
  const { data, pagination } = reads.data;
  if (data.length === 0 && offset === 0) return <p className="text-ink2">{texts.noReads}</p>;
  return (
    <>
      <Table
        label={texts.reads}
        columns={columns(org, now)}
        rows={data}
        rowKey={({ jobId, stepRunId }) => stepRunId ?? jobId}
      />
      <Pager offset={offset} limit={pagination.limit} total={pagination.total} onGo={setOffset} />
    </>
  );
}

function columns(org: string, now: number): Column<SecretRead>[] {
  return [
    {
      name: texts.deployment,
      phone: true,
      cell: ({ deploymentId, stage }) => (
        <Link to={paths.deployment(org, deploymentId, { stage })} className="underline">
          <code className="text-12">{shortId(deploymentId)}</code>
        </Link>
      ),
    },
    { name: texts.stage, phone: true, cell: ({ stage, attempt }) => texts.attempt(stage, attempt) },
    {
      name: texts.step,
      cell: ({ deploymentId, stage, stepRunId }) =>
        stepRunId ? (
          <Link to={paths.deployment(org, deploymentId, { stage, step: stepRunId })} className="text-13 underline">
            {texts.openStep}
            <span className="sr-only"> {shortId(deploymentId)}</span>
          </Link>
        ) : (
          <span className="text-13 text-ink2">{texts.platform}</span>
        ),
    },
    {
      name: texts.version,
      phone: true,
      cell: ({ version }) => <code className="text-12">{texts.number(version)}</code>,
    },
    {
      name: texts.when,
      phone: true,
      tight: true,
      end: true,
      cell: ({ at }) => {
        const time = timeOf(at) ?? now;
        return (
          <span title={full(time)} className="text-13 text-ink2">
            {ago(time, now)}
          </span>
        );
      },
    },
  ];
}
