// Organization Settings > Service accounts: which exist, and a new one.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { meQuery } from "@/api/me";
import { serviceAccountsQuery } from "@/api/serviceAccount";
import type { ServiceAccount } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { paths } from "@/lib/paths";
import { hasRole } from "@/lib/roles";
import { member } from "@/texts/en/member";
import { serviceAccount as texts } from "@/texts/en/serviceAccount";
import { day } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Face } from "@/ui/Face";
import { Link } from "@/ui/Link";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { type Column, Table } from "@/ui/Table";

const NewAccountDialog = lazily(() => import("./NewAccountDialog"), "NewAccountDialog");

export function AccountList(): ReactNode {
  const { org } = useParams({ from: "/o/$org/settings/service-accounts" });
  useTitle(texts.title, org);
  const [offset, setOffset] = useState(0);
  const [isCreating, setCreating] = useState(false);
  const role = useQuery(meQuery(org)).data?.role;
  const accounts = useQuery({ ...serviceAccountsQuery(org, offset), placeholderData: keepPreviousData });
  const page = accounts.data?.pagination;
  const why = role !== undefined && hasRole(role, "admin") ? undefined : texts.adminsOnly;
  const create = (
    <Button look="primary" why={why} onClick={() => setCreating(true)}>
      {texts.create}
    </Button>
  );
  return (
    <>
      <PageHead title={texts.title} actions={create} />
      <p className="mb-4 max-w-prose text-ink2">{texts.intro}</p>
      {accounts.isPending && <SkeletonRows />}
      {accounts.error && !accounts.data && (
        <ProblemPanel error={accounts.error} onRetry={() => void accounts.refetch()} />
      )}
      {accounts.data?.data.length === 0 && <Empty title={texts.emptyTitle} text={texts.emptyText} action={create} />}
      {accounts.data && accounts.data.data.length > 0 && (
        <Table label={texts.title} columns={columns(org)} rows={accounts.data.data} rowKey={({ id }) => id} />
      )}
      {page && <Pager offset={offset} limit={page.limit} total={page.total} onGo={setOffset} />}
      <Suspense>{isCreating && <NewAccountDialog org={org} onClose={() => setCreating(false)} />}</Suspense>
    </>
  );
}

function columns(org: string): Column<ServiceAccount>[] {
  return [
    {
      name: texts.name,
      phone: true,
      cell: ({ id, name }) => (
        <span className="flex items-center gap-2">
          <Face name={name} kind="ci" />
          <Link to={paths.serviceAccount(org, id)} className="font-strong wrap-anywhere hover:underline">
            {name}
          </Link>
        </span>
      ),
    },
    { name: texts.role, phone: true, cell: ({ role }) => member.roles[role] ?? role },
    {
      name: texts.description,
      cell: ({ description }) => <span className="text-13 wrap-anywhere text-ink2">{description}</span>,
    },
    {
      name: texts.since,
      end: true,
      tight: true,
      cell: ({ createdAt }) => {
        const time = timeOf(createdAt);
        return <span className="text-13 text-ink2">{time === undefined ? "" : day(time)}</span>;
      },
    },
  ];
}
