// The address `/`: leads to the person's organization.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";
import { startQuery } from "@/api/me";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { SkeletonRows } from "@/ui/Skeleton";
import { useSignInRedirect } from "./signIn";

export function Start(): ReactNode {
  useSignInRedirect();
  const router = useRouter();
  const me = useQuery(startQuery);
  const org = me.data?.organizationSlug;
  useEffect(() => {
    if (org) router.history.replace(paths.home(org));
  }, [org, router]);
  return (
    <main className="p-4 md:p-7">
      {me.error ? <ProblemPanel error={me.error} onRetry={() => void me.refetch()} /> : <SkeletonRows rows={3} />}
    </main>
  );
}
