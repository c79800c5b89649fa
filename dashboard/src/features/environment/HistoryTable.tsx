// The same data as the timeline, as a table.
import { useState } from "react";
import type { EnvironmentRef } from "@/api/environment";
import type { HistoryEntry } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { history as texts } from "@/texts/en/history";
import { clock, coarse } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { Who } from "@/ui/Face";
import { Link } from "@/ui/Link";
import { sessionState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";

/** The picture above shows all of them; the table starts with the newest. */
const FIRST_ROWS = 20;

export function HistoryTable({ at, entries }: { at: EnvironmentRef; entries: readonly HistoryEntry[] }) {
  const [isWhole, setWhole] = useState(false);
  const rows = isWhole ? entries : entries.slice(0, FIRST_ROWS);
  return (
    <>
      <Table label={texts.title} columns={columns(at)} rows={rows} rowKey={(entry) => entry.sessionId} />
      {rows.length < entries.length && (
        <Button className="self-start" onClick={() => setWhole(true)}>
          {texts.showAll(entries.length)}
        </Button>
      )}
    </>
  );
}

function columns(at: EnvironmentRef): Column<HistoryEntry>[] {
  return [
    {
      name: texts.state,
      phone: true,
      cell: (entry) => (
        <Link to={paths.session(at, entry.sessionId)} className="hover:underline">
          <StateMark state={sessionState(entry.status)} />
        </Link>
      ),
    },
    { name: texts.who, phone: true, cell: (entry) => <Who name={entry.claimedBy.name} kind={entry.claimedBy.kind} /> },
    { name: texts.since, phone: true, tight: true, cell: (entry) => timeText(entry.claimedAt ?? entry.queuedAt) },
    { name: texts.held, tight: true, cell: (entry) => lengthText(entry.heldSeconds) },
    { name: texts.waited, tight: true, cell: (entry) => lengthText(entry.waitedSeconds) },
    { name: texts.context, cell: (entry) => <span className="line-clamp-1">{entry.context}</span> },
    { name: texts.deployments, end: true, cell: (entry) => entry.deployments.length },
  ];
}

function timeText(value: string | null | undefined): string {
  const time = timeOf(value);
  return time === undefined ? "" : clock(time, Date.now());
}

function lengthText(seconds: number | null | undefined): string {
  return seconds ? coarse(seconds * 1_000) : "";
}
