// The list of secrets.
import { useQuery } from "@tanstack/react-query";
import { secretReadsQuery } from "@/api/secret";
import type { Secret } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { useNow } from "@/lib/ticker";
import { secret as texts } from "@/texts/en/secret";
import { ago } from "@/texts/en/time";
import { Link } from "@/ui/Link";
import { type Column, Table } from "@/ui/Table";
import { type NameOf, Rules, scopeText } from "./Rules";

/** A list has many of them, so they are not requested again with every return to the page. */
const LAST_READ_AGE = 60_000;

type Props = { org: string; secrets: readonly Secret[]; nameOf: NameOf; showsReads: boolean };

export function SecretTable({ secrets, ...rest }: Props) {
  return <Table label={texts.title} columns={columns(rest)} rows={secrets} rowKey={({ id }) => id} />;
}

function columns({ org, nameOf, showsReads }: Omit<Props, "secrets">): Column<Secret>[] {
  const all: Column<Secret>[] = [
    {
      name: texts.name,
      phone: true,
      line: true,
      cell: (secret) => (
        <span className="flex flex-col py-1">
          <Link to={paths.secret(org, secret.id)} className="font-strong wrap-anywhere hover:underline">
            {secret.name}
          </Link>
          {secret.description && <span className="text-13 text-ink3">{secret.description}</span>}
        </span>
      ),
    },
    {
      name: texts.scope,
      phone: true,
      cell: (secret) => <span className="text-13 text-ink2">{scopeText(secret, nameOf)}</span>,
    },
    { name: texts.rules, cell: (secret) => <Rules secret={secret} nameOf={nameOf} /> },
    {
      name: texts.version,
      phone: true,
      cell: (secret) => <code className="text-12">{texts.number(secret.activeVersion)}</code>,
    },
  ];
  if (!showsReads) return all;
  return [
    ...all,
    {
      name: texts.lastRead,
      phone: true,
      tight: true,
      end: true,
      cell: (secret) => <LastRead org={org} secret={secret.id} />,
    },
  ];
}

/** The API lists reads by secret only, so each row requests its own. */
function LastRead({ org, secret }: { org: string; secret: string }) {
  const now = useNow("half-minute");
  const reads = useQuery({ ...secretReadsQuery(org, secret, 0, 1), staleTime: LAST_READ_AGE });
  const read = reads.data?.data[0];
  if (!reads.data) return <span className="text-13 text-ink3">–</span>;
  if (!read) return <span className="text-13 text-ink3">{texts.neverRead}</span>;
  return (
    <Link to={paths.deployment(org, read.deploymentId, { stage: read.stage })} className="text-13 underline">
      {ago(timeOf(read.at) ?? now, now)}
    </Link>
  );
}
