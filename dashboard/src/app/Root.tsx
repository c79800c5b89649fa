// What every page has: the region for messages, loaded when the browser is idle.
import { Outlet } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState, type ReactNode } from "react";

const ToastRegion = lazy(() => import("@/ui/Toast").then(({ ToastRegion }) => ({ default: ToastRegion })));

/** Overlays are loaded this long after the first paint, so that they do not delay it. */
const IDLE_DELAY = 1_500;

export function Root(): ReactNode {
  const [isIdle, setIdle] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIdle(true), IDLE_DELAY);
    return () => clearTimeout(timer);
  }, []);
  return (
    <>
      <Outlet />
      <Suspense>{isIdle && <ToastRegion />}</Suspense>
    </>
  );
}
