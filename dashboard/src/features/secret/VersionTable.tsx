// The versions of a secret, newest first: activate, destroy.
import type { SecretVersion } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";
import { common } from "@/texts/en/common";
import { secret as texts } from "@/texts/en/secret";
import { ago } from "@/texts/en/time";
import { StateMark } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { secretVersionState } from "@/ui/state";
import { type Column, Table } from "@/ui/Table";

export type VersionAction = { kind: "activate" | "destroy"; version: number };

type Props = {
  versions: readonly SecretVersion[];
  /** Returns the name of a member by their id. */
  memberOf: (userId: string) => string;
  /** Why versions can't be changed. */
  why: string | undefined;
  onAct: (action: VersionAction) => void;
};

export function VersionTable({ versions, ...rest }: Props) {
  const now = useNow("half-minute");
  const rowKey = ({ version }: SecretVersion) => String(version);
  return <Table label={texts.versions} columns={columns(rest, now)} rows={versions} rowKey={rowKey} />;
}

function columns({ memberOf, why, onAct }: Omit<Props, "versions">, now: number): Column<SecretVersion>[] {
  const small = "text-13 text-ink2";
  return [
    {
      name: texts.version,
      phone: true,
      cell: ({ version }) => <code className="text-12">{texts.number(version)}</code>,
    },
    { name: texts.state, phone: true, cell: ({ status }) => <StateMark state={secretVersionState(status)} /> },
    { name: texts.size, tight: true, cell: ({ bytes }) => <span className={small}>{texts.bytes(bytes)}</span> },
    { name: texts.by, cell: ({ createdBy }) => <span className={small}>{memberOf(createdBy)}</span> },
    {
      name: texts.since,
      tight: true,
      cell: ({ createdAt }) => <span className={small}>{ago(timeOf(createdAt) ?? now, now)}</span>,
    },
    {
      name: common.actions,
      phone: true,
      end: true,
      cell: ({ version, status }) =>
        (status === "staged" || status === "retired") && (
          <span className="inline-flex gap-2">
            {(["activate", "destroy"] as const).map((kind) => (
              <Button key={kind} why={why} onClick={() => onAct({ kind, version })}>
                {texts[kind]}
                <span className="sr-only"> {texts.ofVersion(version)}</span>
              </Button>
            ))}
          </span>
        ),
    },
  ];
}
