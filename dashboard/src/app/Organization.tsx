// One organization: who is signed in, the live connection, and the shell around the screens.
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useParams } from "@tanstack/react-router";
import { meQuery } from "@/api/me";
import { Problem } from "@/api/problem";
import { Live, startOfEvents } from "@/live";
import { lamp } from "@/texts/en/shell";
import { SkeletonRows } from "@/ui/Skeleton";
import { showToast } from "@/ui/toasts";
import { NoOrganization } from "./Failures";
import { Shell } from "./shell/Shell";
import { useSignInRedirect } from "./signIn";

export function Organization(): ReactNode {
  useSignInRedirect();
  const { org } = useParams({ from: "/o/$org" });
  const me = useQuery(meQuery(org));
  const start = useQuery(startOfEvents(org));
  // A refetch that is refused with 403 or 404 means that the membership has ended: the cached data is not shown then.
  const isMember = !(me.error instanceof Problem && (me.error.kind === "missing" || me.error.kind === "refused"));
  if (me.data && isMember && !start.isPending) {
    return (
      <Live org={org} user={me.data.userId} start={start.data} onReset={() => showToast({ title: lamp.reset })}>
        <Shell org={org} me={me.data}>
          <Outlet />
        </Shell>
      </Live>
    );
  }
  if (me.error) return <NoOrganization org={org} error={me.error} onRetry={() => void me.refetch()} />;
  return (
    <main className="p-4 md:p-7">
      <SkeletonRows />
    </main>
  );
}
