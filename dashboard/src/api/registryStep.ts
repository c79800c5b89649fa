// The steps of a registry, their versions, and which pipelines use them. A version never changes, apart from `yanked`.
import { queryOptions } from "@tanstack/react-query";
import type { StepRef } from "@/lib/paths";
import { api, change, unwrap, unwrapData } from "./client";
import { keys } from "./keys";

const STEPS = "/organizations/{orgId}/step-registries/{registryId}/steps" as const;
const STEP = `${STEPS}/{stepName}` as const;
const VERSIONS = `${STEP}/versions` as const;
const VERSION = `${VERSIONS}/{stepVersion}` as const;
const STEPS_PAGE = 50;
/** The most that the API returns at once. */
const MAX_PAGE = 100;

const pathOf = ({ org, registry, step }: StepRef) => ({ orgId: org, registryId: registry, stepName: step });

const keyOf = ({ org, registry, step }: StepRef) => [...keys.stepRegistry(org, registry), "steps", step];

export const registryStepsQuery = (org: string, registryId: string, offset = 0, limit = STEPS_PAGE) =>
  queryOptions({
    queryKey: [...keys.stepRegistry(org, registryId), "steps", offset, limit],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: org, registryId }, query: { limit, offset } };
      return unwrap(api.GET(STEPS, { params, signal }));
    },
  });

export const registryStepQuery = (ref: StepRef) =>
  queryOptions({
    queryKey: [...keyOf(ref), "newest"],
    queryFn: ({ signal }) => unwrapData(api.GET(STEP, { params: { path: pathOf(ref) }, signal })),
  });

/** The highest first. */
export const stepVersionsQuery = (ref: StepRef, offset = 0) =>
  queryOptions({
    queryKey: [...keyOf(ref), "versions", offset],
    queryFn: ({ signal }) =>
      unwrap(api.GET(VERSIONS, { params: { path: pathOf(ref), query: { limit: MAX_PAGE, offset } }, signal })),
  });

export const stepVersionQuery = (ref: StepRef, version: string) =>
  queryOptions({
    queryKey: [...keyOf(ref), "version", version],
    queryFn: ({ signal }) =>
      unwrapData(api.GET(VERSION, { params: { path: { ...pathOf(ref), stepVersion: version } }, signal })),
  });

/** `from` is the next lower version if it is left out. It is always the same, so events do not read it again. */
export const stepDiffQuery = (ref: StepRef, to: string, from: string | undefined) =>
  queryOptions({
    queryKey: [...keys.organization(ref.org), "step-diff", ref.registry, ref.step, to, from ?? "before"],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => {
      const params = { path: { ...pathOf(ref), stepVersion: to }, query: { from } };
      return unwrapData(api.GET(`${VERSION}/diff`, { params, signal }));
    },
  });

export const stepUsageQuery = (ref: StepRef, offset = 0) =>
  queryOptions({
    queryKey: [...keys.stepUsage(ref.org), ref.registry, ref.step, offset],
    queryFn: ({ signal }) =>
      unwrap(api.GET(`${STEP}/usage`, { params: { path: pathOf(ref), query: { limit: MAX_PAGE, offset } }, signal })),
  });

/** What a reference such as `acme/roll-out@v2` means now. It changes nothing on the server. */
export const resolveStepQuery = (ref: StepRef, uses: string) =>
  queryOptions({
    queryKey: [...keyOf(ref), "resolve", uses],
    queryFn: ({ signal }) => {
      const params = { path: { orgId: ref.org } };
      return unwrapData(api.POST("/organizations/{orgId}/step-registries/resolve", { params, body: { uses }, signal }));
    },
  });

export function yankStepVersion(ref: StepRef, version: string, body: { reason: string; refuse: boolean }) {
  const params = { path: { ...pathOf(ref), stepVersion: version } };
  return change((headers) => unwrapData(api.POST(`${VERSION}/yank`, { params, body, headers })));
}
