// Leads to the sign-in page when the server has rejected the session of this browser. The address is kept, so
// that the person returns to the same page.
import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { onSignedOut } from "@/api/client";
import { paths } from "@/lib/paths";

export function useSignInRedirect(): void {
  const router = useRouter();
  useEffect(
    () =>
      onSignedOut(() => {
        const { pathname, search, hash } = location;
        if (pathname !== "/sign-in") router.history.push(paths.signIn(pathname + search + hash));
      }),
    [router],
  );
}
