// Where an organization's events begin for this tab: the newest number before its first read. What is read afterwards
// includes all events up to it, so that nothing has to be read again when the stream has connected.
import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { newestSequence } from "@/api/event";
import { keys } from "@/api/keys";

/** Read whenever an organization is opened, and never again while it is open. */
export const startOfEvents = (org: string) =>
  queryOptions({
    queryKey: ["events-start", org],
    queryFn: async ({ signal, client }) => {
      const sequence = await newestSequence(org, signal);
      forgetReads(client, org);
      return sequence;
    },
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    // The page is shown without it, and the live connection reads it again.
    retry: false,
    refetchInterval: false,
  });

/** What was read before may have missed changes. Who is signed in is read at the same time, and again by the connection. */
export function forgetReads(queries: QueryClient, org: string): void {
  const [, , me] = keys.me(org);
  queries.removeQueries({ queryKey: keys.organization(org), predicate: ({ queryKey }) => queryKey[2] !== me });
}
