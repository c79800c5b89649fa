// One group: who is in it; add, remove, change, delete.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { groupMembersQuery, groupQuery, type GroupRecord } from "@/api/group";
import { meQuery } from "@/api/me";
import type { GroupMember, Me } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { common } from "@/texts/en/common";
import { group as texts } from "@/texts/en/group";
import { day } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";
import { Who } from "@/ui/Face";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { type Column, Table } from "@/ui/Table";
import type { OpenGroup } from "./GroupDialog";

const GroupDialog = lazily(() => import("./GroupDialog"), "GroupDialog");

export function GroupPage(): ReactNode {
  const { org, group: id } = useParams({ from: "/o/$org/settings/groups/$group" });
  const me = useQuery(meQuery(org)).data;
  const group = useQuery(groupQuery(org, id));
  useTitle(group.data?.name ?? texts.title, org);
  if (group.error && !group.data) return <ProblemPanel error={group.error} onRetry={() => void group.refetch()} />;
  return group.data && me ? <Loaded org={org} group={group.data} me={me} /> : <SkeletonRows />;
}

function Loaded({ org, group, me }: { org: string; group: GroupRecord; me: Me }) {
  const [offset, setOffset] = useState(0);
  const [open, setOpen] = useState<OpenGroup | undefined>();
  const members = useQuery({ ...groupMembersQuery(org, group.id, offset), placeholderData: keepPreviousData });
  const page = members.data?.pagination;
  const why = hasRole(me.role, "admin") ? undefined : texts.adminsOnly;
  const add = (
    <Button look="primary" why={why} onClick={() => setOpen({ kind: "add" })}>
      {texts.add}
    </Button>
  );
  if (group.deletedAt)
    return (
      <>
        <PageHead title={group.name} />
        <p className="rounded-6 bg-slate-soft px-3 py-2 text-slate">{texts.deletedBar}</p>
      </>
    );
  return (
    <>
      <PageHead
        title={group.name}
        actions={
          <>
            <Button why={why} onClick={() => setOpen({ kind: "edit" })}>
              {texts.edit}
            </Button>
            <Button why={why} onClick={() => setOpen({ kind: "delete", members: page?.total ?? 0 })}>
              {texts.delete}
            </Button>
            {add}
          </>
        }
      />
      {group.description && <p className="mb-4 max-w-prose wrap-anywhere text-ink2">{group.description}</p>}
      {members.isPending && <SkeletonRows />}
      {members.error && !members.data && <ProblemPanel error={members.error} onRetry={() => void members.refetch()} />}
      {members.data?.data.length === 0 && <Empty title={texts.members} text={texts.noMembers} action={add} />}
      {members.data && members.data.data.length > 0 && (
        <Table
          label={texts.members}
          columns={columns(me, why, setOpen)}
          rows={members.data.data}
          rowKey={({ userId }) => userId}
        />
      )}
      {page && <Pager offset={offset} limit={page.limit} total={page.total} onGo={setOffset} />}
      <Suspense>
        {open && <GroupDialog org={org} group={group} open={open} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </>
  );
}

function columns(me: Me, why: string | undefined, onOpen: (open: OpenGroup) => void): Column<GroupMember>[] {
  return [
    {
      name: texts.member,
      phone: true,
      cell: ({ name, userId }) => <Who name={name} kind="user" mine={userId === me.userId} />,
    },
    {
      name: texts.since,
      cell: ({ addedAt }) => {
        const time = timeOf(addedAt);
        return <span className="text-13 text-ink2">{time === undefined ? "" : day(time)}</span>;
      },
    },
    {
      name: common.actions,
      phone: true,
      end: true,
      cell: (member) => (
        <Button why={why} onClick={() => onOpen({ kind: "remove", member })}>
          {texts.remove}
          <span className="sr-only"> {member.name}</span>
        </Button>
      ),
    },
  ];
}
