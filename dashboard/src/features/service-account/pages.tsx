// The page of one account is loaded separately, so that the list does not load the code for tokens and policies.
import { type ReactNode, Suspense } from "react";
import { lazily } from "@/lib/lazily";
import { SkeletonRows } from "@/ui/Skeleton";

const Page = lazily(() => import("./AccountPage"), "AccountPage");

export function AccountPage(): ReactNode {
  return (
    <Suspense fallback={<SkeletonRows />}>
      <Page />
    </Suspense>
  );
}
