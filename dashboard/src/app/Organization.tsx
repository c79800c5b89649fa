// One organization: who is signed in, the live connection, and the shell around the screens.
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useParams } from "@tanstack/react-router";
import { meQuery } from "@/api/me";
import { Problem } from "@/api/problem";
import { ProblemPanel } from "@/features/problem";
import { Live } from "@/live";
import { lamp } from "@/texts/en/shell";
import { SkeletonRows } from "@/ui/Skeleton";
import { showToast } from "@/ui/toasts";
import { Shell } from "./shell/Shell";
import { useSignInRedirect } from "./signIn";

export function Organization(): ReactNode {
  useSignInRedirect();
  const { org } = useParams({ from: "/o/$org" });
  const me = useQuery(meQuery(org));
  // A refetch that is refused with 403 or 404 means that the membership has ended: the cached data is not shown then.
  const isMember = !(me.error instanceof Problem && (me.error.kind === "missing" || me.error.kind === "refused"));
  if (me.data && isMember) {
    return (
      <Live org={org} user={me.data.userId} onReset={() => showToast({ title: lamp.reset })}>
        <Shell org={org} me={me.data}>
          <Outlet />
        </Shell>
      </Live>
    );
  }
  return (
    <main className="p-4 md:p-7">
      {me.error ? <ProblemPanel error={me.error} onRetry={() => void me.refetch()} /> : <SkeletonRows />}
    </main>
  );
}
