// Forges as a table.
import type { Forge } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";
import { common } from "@/texts/en/common";
import { forge as texts } from "@/texts/en/forge";
import { ago, full } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { type Column, Table } from "@/ui/Table";
import type { OpenForge } from "./ForgeDialog";
import { isKind } from "./form";

type Props = { forges: readonly Forge[]; onOpen: (open: OpenForge) => void };

export function ForgeTable({ forges, onOpen }: Props) {
  const now = useNow("half-minute");
  return <Table label={texts.title} columns={columns(now, onOpen)} rows={forges} rowKey={({ id }) => id} />;
}

function columns(now: number, onOpen: Props["onOpen"]): Column<Forge>[] {
  return [
    {
      name: texts.name,
      phone: true,
      line: true,
      cell: (forge) => (
        <span className="flex flex-col py-1">
          <span className="font-strong wrap-anywhere">{forge.name}</span>
          <span className="text-13 wrap-anywhere text-ink3">
            {isKind(forge.kind) ? texts.kinds[forge.kind] : forge.kind} · {forge.address}
          </span>
          {/* The server's own text: it contains nothing of the forge's response. */}
          {forge.lastError && (
            <span className="mt-1 max-w-prose text-13 wrap-anywhere text-amber">{forge.lastError}</span>
          )}
        </span>
      ),
    },
    {
      name: texts.repositories,
      phone: true,
      line: true,
      cell: ({ repositories }) => (
        <ul className="font-mono text-12 wrap-anywhere text-ink2">
          {repositories.map((repository) => (
            <li key={repository}>{repository}</li>
          ))}
        </ul>
      ),
    },
    { name: texts.used, tight: true, cell: ({ lastUsedAt }) => <Used at={timeOf(lastUsedAt)} now={now} /> },
    {
      name: common.actions,
      phone: true,
      end: true,
      cell: (forge) => (
        <span className="inline-flex gap-1.5">
          <Button onClick={() => onOpen({ kind: "edit", forge })}>
            {texts.edit}
            <span className="sr-only"> {forge.name}</span>
          </Button>
          <Button onClick={() => onOpen({ kind: "remove", forge })}>
            {texts.remove}
            <span className="sr-only"> {forge.name}</span>
          </Button>
        </span>
      ),
    },
  ];
}

function Used({ at, now }: { at: number | undefined; now: number }) {
  if (at === undefined) return <span className="text-13 text-ink3">{texts.never}</span>;
  return (
    <span className="text-13 text-ink2" title={full(at)}>
      {ago(at, now)}
    </span>
  );
}
