// The cache of reads. The event stream keeps it current, so that a read is repeated only if something is missing.
import { QueryClient } from "@tanstack/react-query";
import { isUncertain, Problem } from "./problem";

const MAX_RETRIES = 2;
/** How often a read is repeated, beside the message that it has failed, until the server responds. */
const UNREAD_INTERVAL = 3_000;
const MINUTE = 60_000;

/** No retry if the server's own wait for its database has timed out: the error is shown, and `repeatUnread` applies. */
export function shouldRetry(failures: number, error: unknown): boolean {
  if (!(error instanceof Problem) || failures >= MAX_RETRIES || error.kind === "uncertain") return false;
  return error.status === 0 || error.status === 429 || error.status >= 500;
}

function retryDelay(failures: number, error: unknown): number {
  const seconds = error instanceof Problem ? error.retryAfter : undefined;
  return seconds === undefined ? 500 * 2 ** failures : seconds * 1_000;
}

/** When to repeat a read that failed because the server or its database did not respond. */
export function repeatUnread({ state }: { state: { error: unknown } }): number | false {
  return state.error instanceof Problem && isUncertain(state.error) ? UNREAD_INTERVAL : false;
}

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: MINUTE,
        gcTime: 5 * MINUTE,
        retry: shouldRetry,
        retryDelay,
        refetchInterval: repeatUnread,
        refetchOnWindowFocus: false,
      },
      mutations: { retry: false },
    },
  });
}
