// What every page has: the region for messages. It is loaded when the browser is idle, and then all other parts.
import { Outlet } from "@tanstack/react-router";
import { Suspense, useEffect, useState, type ReactNode } from "react";
import { lazily, loadAll } from "@/lib/lazily";

const ToastRegion = lazily(() => import("@/ui/Toast"), "ToastRegion");

/** The region is loaded this long after the first paint, and the rest after that, so that they do not delay it. */
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
