// The list of tokens.
import type { ApiToken } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";
import { token as texts } from "@/texts/en/token";
import { ago, day } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { type Column, Table } from "@/ui/Table";

type Props = {
  tokens: readonly ApiToken[];
  onRevoke: (token: ApiToken) => void;
  /** They are those of one service account: shows limits instead of owners. */
  isOfAccount?: boolean;
};

export function TokenTable({ tokens, onRevoke, isOfAccount = false }: Props) {
  const now = useNow("half-minute");
  return (
    <Table
      label={texts.title}
      columns={columns(now, onRevoke, isOfAccount)}
      rows={tokens}
      rowKey={(token) => token.id}
    />
  );
}

const SMALL = "text-13 text-ink2";

function columns(now: number, onRevoke: (token: ApiToken) => void, isOfAccount: boolean): Column<ApiToken>[] {
  return [
    {
      name: texts.name,
      phone: true,
      cell: (token) => (
        <span className="flex flex-col">
          <span className="font-strong">{token.name}</span>
          <code className="text-12 text-ink3">{token.hint}</code>
        </span>
      ),
    },
    { name: texts.kind, phone: true, cell: (token) => texts.kindWords[token.kind] ?? token.kind },
    { name: texts.scopes, cell: (token) => <span className={SMALL}>{token.scopes.join(" ")}</span> },
    {
      name: texts.forceColumn,
      cell: (token) => <span className={SMALL}>{token.allowForce ? texts.forceYes : texts.forceNo}</span>,
    },
    { name: texts.lastUse, cell: (token) => <span className={SMALL}>{lastUse(token, now)}</span> },
    { name: texts.expiry, phone: true, cell: (token) => <span className={SMALL}>{expiry(token, now)}</span> },
    isOfAccount
      ? { name: texts.maxSessions, cell: (token) => token.maxSessions ?? texts.anySessions }
      : { name: texts.owner, cell: (token) => token.userName },
    {
      name: texts.revoke,
      phone: true,
      end: true,
      cell: (token) =>
        !token.revokedAt && (
          <Button onClick={() => onRevoke(token)}>
            {texts.revoke}
            <span className="sr-only"> {token.name}</span>
          </Button>
        ),
    },
  ];
}

function lastUse(token: ApiToken, now: number): string {
  const time = timeOf(token.lastUsedAt);
  return time === undefined ? texts.neverUsed : texts.used(ago(time, now));
}

function expiry(token: ApiToken, now: number): string {
  if (token.revokedAt) return texts.revoked;
  const time = timeOf(token.expiresAt);
  if (time === undefined) return texts.never;
  return time <= now ? texts.expired : texts.expires(day(time));
}
