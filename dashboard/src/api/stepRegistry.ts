// Step registries: git repositories that publish steps by tags. The steps in them are in `registryStep.ts`.
import { queryOptions } from "@tanstack/react-query";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";
import type { components } from "./schema.gen";
import type { Event, StepRegistry } from "./types";

const REGISTRIES = "/organizations/{orgId}/step-registries" as const;
const REGISTRY = `${REGISTRIES}/{registryId}` as const;
/** Few, because the steps of each one on the page are counted as well. */
const PAGE = 25;
/** The most that the API returns at once. */
const MAX_PAGE = 100;

export type NewRegistry = components["schemas"]["CreateStepRegistry"];
export type RegistryChange = components["schemas"]["UpdateStepRegistry"];

/** The end of a synchronization records no event, and events of registries are for admins only. */
const LIVE = { refetchOnWindowFocus: true } as const;

export const registriesQuery = (org: string, offset = 0) =>
  queryOptions({
    ...LIVE,
    queryKey: [...keys.stepRegistries(org), "list", offset],
    queryFn: ({ signal }) =>
      unwrap(api.GET(REGISTRIES, { params: { path: { orgId: org }, query: { limit: PAGE, offset } }, signal })),
  });

/** `etag` makes a change fail if another admin has changed the registry since. */
export type RegistryRecord = StepRegistry & { etag: string | undefined };

type Response = Promise<{ data?: { data: StepRegistry }; error?: unknown; response: globalThis.Response }>;

async function recordOf(call: Response): Promise<RegistryRecord> {
  const registry = await unwrapData(call);
  return { ...registry, etag: (await call).response.headers.get("ETag") ?? undefined };
}

export const registryQuery = (org: string, registryId: string) =>
  queryOptions({
    ...LIVE,
    queryKey: keys.stepRegistry(org, registryId),
    queryFn: ({ signal }) => recordOf(api.GET(REGISTRY, { params: { path: { orgId: org, registryId } }, signal })),
  });

/** Tags that were refused because they were moved or not signed: the newest ones of the organization, by their events. */
export const refusalsQuery = (org: string) =>
  queryOptions({
    queryKey: [...keys.stepRegistries(org), "refusals"],
    queryFn: ({ signal }): Promise<Event[]> => {
      const query = { type: "step.tag_moved,step.signature_refused", limit: MAX_PAGE };
      return unwrapData(api.GET("/organizations/{orgId}/events", { params: { path: { orgId: org }, query }, signal }));
    },
  });

export function createRegistry(org: string, body: NewRegistry) {
  const params = { path: { orgId: org } };
  return change((headers) => unwrapData(api.POST(REGISTRIES, { params, body, headers })));
}

export function updateRegistry(org: string, { id, etag }: RegistryRecord, body: RegistryChange) {
  const path = { orgId: org, registryId: id };
  return change((headers) => {
    const params = { path, header: { ...headers, "If-Match": etag } };
    return recordOf(api.PATCH(REGISTRY, { params, body, headers }));
  });
}

export function deleteRegistry(org: string, { id, etag }: RegistryRecord) {
  const path = { orgId: org, registryId: id };
  return change((headers) => {
    const params = { path, header: { ...headers, "If-Match": etag } };
    return unwrapData(api.DELETE(REGISTRY, { params, headers }));
  });
}

/** Requests a synchronization. The record shows when it has ended: `nextSyncAt` is later again. */
export function syncRegistry(org: string, registryId: string) {
  const params = { path: { orgId: org, registryId } };
  return change((headers) => recordOf(api.POST(`${REGISTRY}/sync`, { params, headers })));
}
