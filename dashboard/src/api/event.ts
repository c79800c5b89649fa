// Events: the newest number, from which a stream continues.
import { api, unwrap } from "./client";

/** The number of the newest event that this user can see; 0 if there is none. */
export async function newestSequence(org: string, signal: AbortSignal): Promise<number> {
  const params = { path: { orgId: org }, query: { limit: 1 } };
  const list = await unwrap(api.GET("/organizations/{orgId}/events", { params, signal }));
  return list.data[0]?.sequence ?? 0;
}

export function streamUrl(org: string, after: number): string {
  return `/api/v1/organizations/${encodeURIComponent(org)}/events/stream?after=${after}`;
}
