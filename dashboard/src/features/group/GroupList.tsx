// Organization Settings > Groups: which exist, and a new one.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { groupsQuery } from "@/api/group";
import { meQuery } from "@/api/me";
import type { Group } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { paths } from "@/lib/paths";
import { hasRole } from "@/lib/roles";
import { group as texts } from "@/texts/en/group";
import { day } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Link } from "@/ui/Link";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { type Column, Table } from "@/ui/Table";

const NewGroupDialog = lazily(() => import("./NewGroupDialog"), "NewGroupDialog");

export function GroupList(): ReactNode {
  const { org } = useParams({ from: "/o/$org/settings/groups" });
  useTitle(texts.title, org);
  const [offset, setOffset] = useState(0);
  const [isCreating, setCreating] = useState(false);
  const role = useQuery(meQuery(org)).data?.role;
  const groups = useQuery({ ...groupsQuery(org, offset), placeholderData: keepPreviousData });
  const page = groups.data?.pagination;
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
      {groups.isPending && <SkeletonRows />}
      {groups.error && !groups.data && <ProblemPanel error={groups.error} onRetry={() => void groups.refetch()} />}
      {groups.data?.data.length === 0 && <Empty title={texts.emptyTitle} text={texts.emptyText} action={create} />}
      {groups.data && groups.data.data.length > 0 && (
        <Table label={texts.title} columns={columns(org)} rows={groups.data.data} rowKey={({ id }) => id} />
      )}
      {page && <Pager offset={offset} limit={page.limit} total={page.total} onGo={setOffset} />}
      <Suspense>{isCreating && <NewGroupDialog org={org} onClose={() => setCreating(false)} />}</Suspense>
    </>
  );
}

function columns(org: string): Column<Group>[] {
  return [
    {
      name: texts.name,
      phone: true,
      line: true,
      cell: ({ id, name }) => (
        <Link to={paths.group(org, id)} className="font-strong wrap-anywhere hover:underline">
          {name}
        </Link>
      ),
    },
    {
      name: texts.description,
      phone: true,
      line: true,
      cell: ({ description }) => <span className="text-13 wrap-anywhere text-ink2">{description}</span>,
    },
    {
      name: texts.created,
      end: true,
      tight: true,
      cell: ({ createdAt }) => <span className="text-13 text-ink2">{dayOf(createdAt)}</span>,
    },
  ];
}

function dayOf(value: string): string {
  const time = timeOf(value);
  return time === undefined ? "" : day(time);
}
