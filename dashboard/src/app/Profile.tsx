// The address `/me`: the person's own page, which belongs to no organization.
import { lazy, Suspense, type ReactNode } from "react";
import { SkeletonRows } from "@/ui/Skeleton";
import { useSignInRedirect } from "./signIn";

const ProfilePage = lazy(() => import("@/features/profile").then(({ ProfilePage }) => ({ default: ProfilePage })));

export function Profile(): ReactNode {
  useSignInRedirect();
  return (
    <Suspense fallback={<SkeletonRows />}>
      <ProfilePage />
    </Suspense>
  );
}
