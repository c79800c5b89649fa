// The root of every page, with the region for toasts. Prefetches the chunks of all screens and dialogs.
import { Outlet } from "@tanstack/react-router";
import { Suspense, useEffect, useState, type ReactNode } from "react";
import { lazily, loadAll } from "@/lib/lazily";

const ToastRegion = lazily(() => import("@/ui/Toast"), "ToastRegion");

/** Delays after the first render in milliseconds, so that these requests do not compete with it. */
const IDLE_DELAY = 1_500;
const REST_DELAY = 5_000;

export function Root(): ReactNode {
  const [isIdle, setIdle] = useState(false);
  useEffect(() => {
    const timers = [setTimeout(() => setIdle(true), IDLE_DELAY), setTimeout(() => void loadAll(), REST_DELAY)];
    return () => timers.forEach(clearTimeout);
  }, []);
  return (
    <>
      <Outlet />
      <Suspense>{isIdle && <ToastRegion />}</Suspense>
    </>
  );
}
