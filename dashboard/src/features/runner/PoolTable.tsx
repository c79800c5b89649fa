// The pools: which jobs they take, what runs and what waits.
import type { RunnerPool } from "@/api/types";
import { common } from "@/texts/en/common";
import { runner as texts } from "@/texts/en/runner";
import { Button } from "@/ui/Button";
import { type Column, Table } from "@/ui/Table";

type Props = { pools: readonly RunnerPool[]; onEdit: (pool: RunnerPool) => void };

export function PoolTable({ pools, onEdit }: Props) {
  return <Table label={texts.pools} columns={columns(onEdit)} rows={pools} rowKey={(pool) => pool.id} />;
}

function columns(onEdit: (pool: RunnerPool) => void): Column<RunnerPool>[] {
  return [
    { name: texts.pool, phone: true, cell: (pool) => <span className="font-strong">{pool.name}</span> },
    { name: texts.network, cell: (pool) => pool.network },
    { name: texts.takes, cell: (pool) => <span className="text-13 text-ink2">{takes(pool)}</span> },
    { name: texts.runners, end: true, cell: (pool) => <Count value={pool.runners} /> },
    { name: texts.running, phone: true, end: true, cell: (pool) => <Count value={pool.running} of={texts.running} /> },
    { name: texts.queued, phone: true, end: true, cell: (pool) => <Count value={pool.queued} of={texts.queued} /> },
    {
      name: common.actions,
      phone: true,
      end: true,
      cell: (pool) => (
        <Button onClick={() => onEdit(pool)}>
          {texts.edit}
          <span className="sr-only"> {pool.name}</span>
        </Button>
      ),
    },
  ];
}

function takes({ pipelines, environments }: RunnerPool): string {
  return texts.restricted(pipelines?.length ?? 0, environments?.length ?? 0) || texts.everything;
}

/** On phones, where the table has no head, the word stands beside the number. */
function Count({ value, of }: { value: number; of?: string }) {
  return (
    <span className="tabular-nums">
      {value}
      {of && <span className="text-13 text-ink3 md:hidden"> {of.toLowerCase()}</span>}
    </span>
  );
}
