// The page of an environment is a separate chunk, so that the board does not load the timeline. So is the notice of a
// failed clean-up, which is rare.
import { type ComponentProps, type ReactNode, Suspense } from "react";
import { lazily } from "@/lib/lazily";
import { SkeletonRows } from "@/ui/Skeleton";
import type { CleanupBar as Bar } from "./CleanupBar";

const Page = lazily(() => import("./EnvironmentPage"), "EnvironmentPage");
const LazyBar = lazily(() => import("./CleanupBar"), "CleanupBar");

export function EnvironmentPage(): ReactNode {
  return (
    <Suspense fallback={<SkeletonRows />}>
      <Page />
    </Suspense>
  );
}

export function CleanupBar(props: ComponentProps<typeof Bar>): ReactNode {
  return (
    <Suspense>
      <LazyBar {...props} />
    </Suspense>
  );
}
