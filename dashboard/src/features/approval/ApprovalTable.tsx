// Approvals as a table.
import type { Approval } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { shortCommit, shortId } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { approval as oneTexts, approvals as texts } from "@/texts/en/approval";
import { ago, duration } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Link } from "@/ui/Link";
import { approvalState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";

type NameOf = (pipelineId: string) => string | undefined;
type Props = { org: string; approvals: readonly Approval[]; nameOf: NameOf };

export function ApprovalTable({ org, approvals, nameOf }: Props) {
  const now = useNow("half-minute");
  return (
    <Table
      label={texts.title}
      columns={columns(org, nameOf, now)}
      rows={approvals}
      rowKey={(approval) => approval.id}
    />
  );
}

function columns(org: string, nameOf: NameOf, now: number): Column<Approval>[] {
  return [
    {
      name: texts.what,
      phone: true,
      line: true,
      cell: (row) => (
        <span className="flex min-w-44 flex-col py-1">
          <Link to={paths.approval(org, row.id)} className="font-strong wrap-anywhere hover:underline">
            {texts.stageOf(row.stage, nameOf(row.pipelineId) ?? shortId(row.pipelineId))}
            {row.environment && row.environment !== row.stage && (
              <span className="font-body text-ink2"> {texts.to(row.environment)}</span>
            )}
          </Link>
          <code className="text-12 text-ink3">{shortCommit(row.subject.commitId)}</code>
        </span>
      ),
    },
    { name: texts.state, phone: true, cell: (row) => <StateMark state={approvalState(row.status)} /> },
    {
      name: texts.votes,
      phone: true,
      tight: true,
      cell: (row) => (
        <span className="font-mono text-12 tabular-nums">
          {oneTexts.progress(row.have, row.needed)}
          {row.status === "pending" && !row.satisfiable && (
            <span className="block font-sans text-red max-md:ml-2 max-md:inline">{texts.unsatisfiable}</span>
          )}
        </span>
      ),
    },
    {
      name: texts.when,
      phone: true,
      end: true,
      cell: (row) => <span className="text-13 text-ink2 tabular-nums">{whenText(row, now)}</span>,
    },
  ];
}

/** Until when a pending one waits; when any other was requested. */
function whenText({ status, createdAt, expiresAt }: Approval, now: number): string {
  const time = timeOf(status === "pending" ? expiresAt : createdAt);
  if (time === undefined) return "";
  return status === "pending" ? texts.expiresIn(duration(time - now)) : ago(time, now);
}
