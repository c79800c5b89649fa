// The members of the organization: who has which role, add, change, remove.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { meQuery } from "@/api/me";
import { membersQuery } from "@/api/member";
import type { Me, Member } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { timeOf } from "@/lib/countdown";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { common } from "@/texts/en/common";
import { member as texts } from "@/texts/en/member";
import { day } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { Who } from "@/ui/Face";
import { PageHead } from "@/ui/Page";
import { Pager } from "@/ui/Pager";
import { SkeletonRows } from "@/ui/Skeleton";
import { type Column, Table } from "@/ui/Table";
import type { OpenMember } from "./MemberDialog";

const MemberDialog = lazily(() => import("./MemberDialog"), "MemberDialog");
const MemberMenu = lazily(() => import("./MemberMenu"), "MemberMenu");

export function MemberPage(): ReactNode {
  const { org } = useParams({ from: "/o/$org/settings/members" });
  useTitle(texts.title, org);
  const [offset, setOffset] = useState(0);
  const [open, setOpen] = useState<OpenMember | undefined>();
  const me = useQuery(meQuery(org)).data;
  const members = useQuery(membersQuery(org, offset));
  const page = members.data?.pagination;
  const isAdmin = me !== undefined && hasRole(me.role, "admin");
  return (
    <>
      <PageHead
        title={texts.title}
        actions={
          <Button look="primary" why={isAdmin ? undefined : texts.adminsOnly} onClick={() => setOpen({ kind: "add" })}>
            {texts.add}
          </Button>
        }
      />
      {members.error && !members.data && <ProblemPanel error={members.error} onRetry={() => void members.refetch()} />}
      {members.isPending && <SkeletonRows />}
      {members.data && me && (
        <Table
          label={texts.title}
          columns={columns(me, setOpen)}
          rows={members.data.data}
          rowKey={(member) => member.userId}
        />
      )}
      {page && <Pager offset={offset} limit={page.limit} total={page.total} onGo={setOffset} />}
      <Suspense>{open && me && <MemberDialog org={org} me={me} open={open} onChange={setOpen} />}</Suspense>
    </>
  );
}

function columns(me: Me, onOpen: (open: OpenMember) => void): Column<Member>[] {
  const all: Column<Member>[] = [
    {
      name: texts.name,
      phone: true,
      cell: (member) => <Who name={member.name} kind="user" mine={member.userId === me.userId} />,
    },
    { name: texts.role, phone: true, cell: (member) => texts.roles[member.role] ?? member.role },
    { name: texts.email, cell: (member) => <span className="text-ink2">{member.email}</span> },
    { name: texts.since, cell: (member) => <span className="text-13 text-ink2">{sinceText(member)}</span> },
  ];
  if (!hasRole(me.role, "admin")) return all;
  const menu: Column<Member> = {
    name: common.actions,
    phone: true,
    end: true,
    cell: (member) => (
      <Suspense>
        <MemberMenu me={me} member={member} onOpen={onOpen} />
      </Suspense>
    ),
  };
  return [...all, menu];
}

function sinceText(member: Member): string {
  const time = timeOf(member.createdAt);
  return time === undefined ? "" : day(time);
}
