// The page of an environment is a file of its own, so that the board does not load the timeline.
import { lazy, type ReactNode, Suspense } from "react";
import { SkeletonRows } from "@/ui/Skeleton";

const Page = lazy(() => import("./EnvironmentPage").then((module) => ({ default: module.EnvironmentPage })));

export function EnvironmentPage(): ReactNode {
  return (
    <Suspense fallback={<SkeletonRows />}>
      <Page />
    </Suspense>
  );
}
