// The cache of reads. The event stream keeps it current, so that a read is repeated only if something is missing.
import { QueryClient } from "@tanstack/react-query";
import { Problem } from "./problem";

const MAX_RETRIES = 2;
const MINUTE = 60_000;

function shouldRetry(failures: number, error: unknown): boolean {
  if (!(error instanceof Problem) || failures >= MAX_RETRIES) return false;
  return error.status === 0 || error.status === 429 || error.status >= 500;
}

function retryDelay(failures: number, error: unknown): number {
  const asked = error instanceof Problem ? error.retryAfter : undefined;
  return asked === undefined ? 500 * 2 ** failures : asked * 1_000;
}

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { staleTime: MINUTE, gcTime: 5 * MINUTE, retry: shouldRetry, retryDelay, refetchOnWindowFocus: false },
      mutations: { retry: false },
    },
  });
}
