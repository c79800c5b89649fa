// The page of an environment is a file of its own, so that the board does not load the timeline.
import { type ReactNode, Suspense } from "react";
import { lazily } from "@/lib/lazily";
import { SkeletonRows } from "@/ui/Skeleton";

const Page = lazily(() => import("./EnvironmentPage"), "EnvironmentPage");

export function EnvironmentPage(): ReactNode {
  return (
    <Suspense fallback={<SkeletonRows />}>
      <Page />
    </Suspense>
  );
}
