// Every deployment that has begun to work in the environment.
import { useInfiniteQuery } from "@tanstack/react-query";
import { lastingHistoryQuery, type LastingRef } from "@/api/lasting";
import type { Role } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { shortCommit } from "@/lib/ids";
import { paths } from "@/lib/paths";
import { hasRole } from "@/lib/roles";
import { common } from "@/texts/en/common";
import { lastingPage as texts, rollBack } from "@/texts/en/lasting";
import { clock, coarse, full } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Link } from "@/ui/Link";
import { SkeletonRows } from "@/ui/Skeleton";
import { lastingState, workState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";
import { type HistoryRow, historyRows, notesOf } from "./history";
import { RollbackMark } from "@/ui/RollbackMark";

type Props = { at: LastingRef; role: Role; now: number; onRollBack: (entry: HistoryRow) => void };

export function History({ at, role, now, onRollBack }: Props) {
  const history = useInfiniteQuery(lastingHistoryQuery(at));
  const pages = history.data?.pages;
  const rows =
    pages &&
    historyRows(
      pages.flatMap(({ data }) => data),
      now,
      pages[0]?.pagination.offset === 0,
    );
  const why = hasRole(role, "maintainer") ? undefined : rollBack.maintainersOnly;
  return (
    <section aria-label={texts.history}>
      <h2 className="text-20">{texts.history}</h2>
      <p className="mb-2 text-13 text-ink3">{texts.historyText}</p>
      {history.error && !rows && <ProblemPanel error={history.error} onRetry={() => void history.refetch()} />}
      {history.isPending && <SkeletonRows rows={3} />}
      {rows?.length === 0 && <p className="text-ink2">{texts.noHistory}</p>}
      {rows && rows.length > 0 && (
        <Table
          label={texts.history}
          columns={columns({ org: at.org, now, why, onRollBack })}
          rows={rows}
          rowKey={({ fence }) => String(fence)}
        />
      )}
      {history.hasNextPage && (
        <Button className="mt-4" busy={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
          {texts.older}
        </Button>
      )}
    </section>
  );
}

type Context = { org: string; now: number; why: string | undefined; onRollBack: (entry: HistoryRow) => void };

function columns({ org, now, why, onRollBack }: Context): Column<HistoryRow>[] {
  return [
    { name: texts.state, phone: true, cell: (row) => <State row={row} /> },
    {
      name: texts.commit,
      phone: true,
      cell: (row) => (
        <span className="flex flex-wrap items-center gap-x-2">
          <Link to={paths.deployment(org, row.deploymentId)} className="underline">
            <code className="text-12">{shortCommit(row.commitId)}</code>
          </Link>
          {row.rollback && <RollbackMark />}
        </span>
      ),
    },
    { name: texts.by, phone: true, cell: (row) => <Who row={row} /> },
    {
      name: texts.began,
      phone: true,
      tight: true,
      cell: ({ beganAt }) => {
        const time = timeOf(beganAt) ?? now;
        return (
          <span title={full(time)} className="text-13 text-ink2">
            {clock(time, now)}
          </span>
        );
      },
    },
    {
      name: texts.liveFor,
      tight: true,
      cell: ({ liveFor }) => <span className="text-13 text-ink2">{liveFor === undefined ? "" : coarse(liveFor)}</span>,
    },
    {
      name: common.actions,
      phone: true,
      end: true,
      cell: (row) =>
        row.canRollBack && (
          <Button why={why} onClick={() => onRollBack(row)}>
            {texts.rollBack}
            <span className="sr-only"> {shortCommit(row.commitId)}</span>
          </Button>
        ),
    },
  ];
}

function Who({ row }: { row: HistoryRow }) {
  return (
    <span className="flex max-w-[42ch] min-w-0 flex-col">
      {row.by.name}
      {notesOf(row).map((note) => (
        <span key={note} className="text-12 wrap-anywhere text-ink2">
          {note}
        </span>
      ))}
    </span>
  );
}

function State({ row: { live, outcome } }: { row: HistoryRow }) {
  if (live) return <StateMark state={lastingState("live")} />;
  return outcome ? (
    <StateMark state={workState(outcome)} />
  ) : (
    <StateMark state={workState("running")} word={texts.working} />
  );
}
