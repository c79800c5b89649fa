// Freezes as a table.
import type { Freeze } from "@/api/types";
import { shortId } from "@/lib/ids";
import { common } from "@/texts/en/common";
import { freeze as texts } from "@/texts/en/freeze";
import { StateMark } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { type FreezeState, freezeState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";
import type { OpenFreeze } from "./FreezeDialog";
import { coversText, nextText, whenTexts } from "./texts";

type NameOf = (pipelineId: string) => string | undefined;

type Props = {
  label: string;
  freezes: readonly Freeze[];
  state: FreezeState;
  nameOf: NameOf;
  /** Why this person can't change them. */
  why: string | undefined;
  now: number;
  onOpen: (open: OpenFreeze) => void;
};

export function FreezeTable({ label, freezes, ...rest }: Props) {
  return <Table label={label} columns={columns(rest)} rows={freezes} rowKey={({ id }) => id} />;
}

function columns({ state, nameOf, why, now, onOpen }: Omit<Props, "label" | "freezes">): Column<Freeze>[] {
  return [
    {
      name: texts.name,
      phone: true,
      line: true,
      cell: (freeze) => (
        <span className="flex flex-col py-1">
          <span className="font-strong wrap-anywhere">{freeze.name}</span>
          <span className="max-w-[60ch] text-13 wrap-anywhere text-ink3">{freeze.reason}</span>
        </span>
      ),
    },
    {
      name: texts.state,
      phone: true,
      cell: (freeze) => (
        <span className="flex flex-wrap items-center gap-x-2">
          <StateMark state={freezeState(state)} />
          <span className="text-13 text-ink2">{nextText(freeze, state, now)}</span>
        </span>
      ),
    },
    {
      name: texts.when,
      phone: true,
      line: true,
      cell: (freeze) => (
        <ul className="text-13 text-ink2">
          {whenTexts(freeze, now).map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      ),
    },
    {
      name: texts.covers,
      phone: true,
      line: true,
      cell: (freeze) => (
        <span className="text-13 text-ink2">{coversText(freeze, (id) => nameOf(id) ?? shortId(id))}</span>
      ),
    },
    {
      name: common.actions,
      phone: true,
      end: true,
      cell: (freeze) => (
        <span className="inline-flex gap-1.5">
          <Button why={why} onClick={() => onOpen({ kind: "edit", freeze })}>
            {texts.edit}
            <span className="sr-only"> {freeze.name}</span>
          </Button>
          <Button why={why} onClick={() => onOpen({ kind: "end", freeze, state })}>
            {state === "over" ? texts.remove : texts.end}
            <span className="sr-only"> {freeze.name}</span>
          </Button>
        </span>
      ),
    },
  ];
}
