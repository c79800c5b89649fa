// The page of one environment is loaded on demand, so that the table of all environments does not include the code of its history and dialogs.
import { type ReactNode, Suspense } from "react";
import { lazily } from "@/lib/lazily";
import { SkeletonRows } from "@/ui/Skeleton";

const Page = lazily(() => import("./LastingPage"), "LastingPage");

export function LastingPage(): ReactNode {
  return (
    <Suspense fallback={<SkeletonRows />}>
      <Page />
    </Suspense>
  );
}
