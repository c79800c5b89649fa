// The model that explains failures: which one, its limits, and what was used of them. For admins only.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrapData } from "./client";
import { keys } from "./keys";
import type { components } from "./schema.gen";
import type { AnalysisSettings } from "./types";

const SETTINGS = "/organizations/{orgId}/analysis-settings" as const;

export type SettingsChange = components["schemas"]["UpdateAnalysisSettings"];

/** `etag` makes a change fail if another admin has changed the settings since. */
export type SettingsRecord = AnalysisSettings & { etag: string | undefined };

type Call = Promise<{ data?: { data: AnalysisSettings }; error?: unknown; response: Response }>;

async function recordOf(call: Call): Promise<SettingsRecord> {
  const settings = await unwrapData(call);
  return { ...settings, etag: (await call).response.headers.get("ETag") ?? undefined };
}

export const analysisSettingsQuery = (org: string) =>
  queryOptions({
    queryKey: keys.analysisSettings(org),
    // What was used changes with every call of the model.
    staleTime: 0,
    refetchOnWindowFocus: true,
    queryFn: ({ signal }) => recordOf(api.GET(SETTINGS, { params: { path: { orgId: org } }, signal })),
  });

export function updateAnalysisSettings(org: string, etag: string | undefined, body: SettingsChange) {
  return change((headers) => {
    const params = { path: { orgId: org }, header: { ...headers, "If-Match": etag } };
    return recordOf(api.PATCH(SETTINGS, { params, body, headers }));
  });
}
