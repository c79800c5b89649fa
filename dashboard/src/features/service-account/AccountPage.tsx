// One service account: its role, its tokens, and which CI systems it trusts.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { meQuery } from "@/api/me";
import { type AccountRecord, serviceAccountQuery } from "@/api/serviceAccount";
import type { Me } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { member } from "@/texts/en/member";
import { serviceAccount as texts } from "@/texts/en/serviceAccount";
import { Button } from "@/ui/Button";
import { PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { Policies } from "./Policies";

const AccountTokens = lazily(() => import("@/features/token"), "AccountTokens");
const AccountDialog = lazily(() => import("./AccountDialog"), "AccountDialog");

export function AccountPage(): ReactNode {
  const { org, account: id } = useParams({ from: "/o/$org/settings/service-accounts/$account" });
  const me = useQuery(meQuery(org)).data;
  const account = useQuery(serviceAccountQuery(org, id));
  useTitle(account.data?.name ?? texts.title, org);
  if (account.error && !account.data)
    return <ProblemPanel error={account.error} onRetry={() => void account.refetch()} />;
  return account.data && me ? <Loaded org={org} account={account.data} me={me} /> : <SkeletonRows />;
}

function Loaded({ org, account, me }: { org: string; account: AccountRecord; me: Me }) {
  const [open, setOpen] = useState<"edit" | "delete" | undefined>();
  const isAdmin = hasRole(me.role, "admin");
  const why = isAdmin ? undefined : texts.adminsOnly;
  return (
    <>
      <PageHead
        title={account.name}
        badge={<span className="self-center text-ink2">{member.roles[account.role] ?? account.role}</span>}
        actions={
          <>
            <Button why={why} onClick={() => setOpen("edit")}>
              {texts.edit}
            </Button>
            <Button why={why} onClick={() => setOpen("delete")}>
              {texts.delete}
            </Button>
          </>
        }
      />
      {account.description && <p className="mb-4 max-w-prose wrap-anywhere text-ink2">{account.description}</p>}
      {isAdmin ? (
        <>
          <Suspense fallback={<SkeletonRows rows={3} />}>
            <AccountTokens org={org} account={account} />
          </Suspense>
          <Policies org={org} account={account} />
        </>
      ) : (
        <p className="text-ink2">{texts.adminsRead}</p>
      )}
      <Suspense>
        {open && <AccountDialog org={org} account={account} open={open} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </>
  );
}
