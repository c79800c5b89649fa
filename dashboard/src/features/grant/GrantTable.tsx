// Grants as a table.
import type { Grant } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { paths } from "@/lib/paths";
import { common } from "@/texts/en/common";
import { grant as texts } from "@/texts/en/grant";
import { day } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { Who } from "@/ui/Face";
import { Link } from "@/ui/Link";
import { type Column, Table } from "@/ui/Table";
import { granteeOf, valueOf } from "./grantee";

type Props = { org: string; grants: readonly Grant[]; why: string | undefined; onDelete: (grant: Grant) => void };

export function GrantTable({ grants, ...rest }: Props) {
  return (
    <Table label={texts.grants} columns={columns(rest)} rows={grants} rowKey={(grant) => valueOf(granteeOf(grant))} />
  );
}

function columns({ org, why, onDelete }: Omit<Props, "grants">): Column<Grant>[] {
  return [
    {
      name: texts.who,
      phone: true,
      line: true,
      cell: ({ group, user }) =>
        group ? (
          <Link to={paths.group(org, group.id)} className="font-strong wrap-anywhere hover:underline">
            {group.name} <span className="text-13 font-body text-ink2">{texts.group}</span>
          </Link>
        ) : (
          <Who name={user?.name ?? ""} kind="user" />
        ),
    },
    { name: texts.role, phone: true, cell: ({ role }) => texts.roleWords[role] ?? role },
    {
      name: texts.since,
      cell: ({ updatedAt }) => {
        const time = timeOf(updatedAt);
        return <span className="text-13 text-ink2">{time === undefined ? "" : day(time)}</span>;
      },
    },
    {
      name: common.actions,
      phone: true,
      end: true,
      cell: (grant) => (
        <Button why={why} onClick={() => onDelete(grant)}>
          {texts.delete}
          <span className="sr-only"> {granteeOf(grant).name}</span>
        </Button>
      ),
    },
  ];
}
