// The icon of the browser tab is the state of the page.
import { useEffect } from "react";

export type Favicon = "idle" | "yours" | "running" | "failed" | "waiting" | "offline";

export function useFavicon(state: Favicon): void {
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (link) link.href = `/assets/icons/${state}.svg`;
  }, [state]);
}

export function useTitle(...parts: string[]): void {
  const title = [...parts, "Greenroom"].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
