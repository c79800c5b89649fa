// Notices: what ended this person's sessions without them, until they mark it as read.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrapData } from "./client";
import { keys } from "./keys";

const NOTICES = "/organizations/{orgId}/me/notices" as const;
const MAX_NOTICES = 100;

/** Newest first. */
export const noticesQuery = (org: string) =>
  queryOptions({
    queryKey: keys.notices(org),
    queryFn: ({ signal }) =>
      unwrapData(api.GET(NOTICES, { params: { path: { orgId: org }, query: { limit: MAX_NOTICES } }, signal })),
  });

/** `until` is the `at` of the newest notice that was shown: one that came later stays. */
export function markNoticesRead(org: string, until: string) {
  const params = { path: { orgId: org } };
  return change((headers) => unwrapData(api.PUT(`${NOTICES}/read`, { params, body: { until }, headers })));
}
