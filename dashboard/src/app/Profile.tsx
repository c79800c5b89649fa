// The address `/me`: the person's own page, which belongs to no organization.
import { Suspense, type ReactNode } from "react";
import { lazily } from "@/lib/lazily";
import { SkeletonRows } from "@/ui/Skeleton";
import { useSignInRedirect } from "./signIn";

const ProfilePage = lazily(() => import("@/features/profile"), "ProfilePage");

export function Profile(): ReactNode {
  useSignInRedirect();
  return (
    <Suspense fallback={<SkeletonRows />}>
      <ProfilePage />
    </Suspense>
  );
}
