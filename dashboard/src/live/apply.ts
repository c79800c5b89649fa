// The table of event types: what each one changes in the cache, or which reads it makes stale.
import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { namesOf } from "@/api/aliases";
import type { EnvironmentPage } from "@/api/environment";
import { keys } from "@/api/keys";
import type { Deployment, Environment, Event, ListedSession } from "@/api/types";
import { actorOf, type After, afterOf } from "./after";
import type { Invalidator } from "./invalidate";
import { patchDeployment, patchEnvironmentDeployment, patchLock, patchStage } from "./patch";

export type Cache = { org: string; user: string; queries: QueryClient; stale: Pick<Invalidator, "invalidate"> };

type Rule = (cache: Cache, event: Event, after: After) => void;

/** The first row whose prefix matches decides. */
const TABLE: readonly [prefix: string, rule: Rule][] = [
  ["session.", onSession],
  ["deployment.stage.", onStage],
  ["deployment.", onDeployment],
  ["approval.", onApproval],
  ["failure.", onFailure],
  ["analysis.", onFailure],
  ["fix.", onFailure],
  ["environment.hold_ended", onGate],
  ["environment.held", onGate],
  ["freeze.", onGate],
  ["environment.", ({ org, stale }, _, after) => eachEnvironment(org, after, (key) => stale.invalidate(key))],
  ["pipeline.", onPipeline],
  ["member.", ({ org, stale }) => [keys.members(org), keys.me(org)].forEach((key) => stale.invalidate(key))],
  ["group.", ({ org, stale }) => [keys.groups(org), keys.grants(org)].forEach((key) => stale.invalidate(key))],
  ["grant.", ({ org, stale }) => stale.invalidate(keys.grants(org))],
  ["service_account.", ({ org, stale }) => stale.invalidate(keys.serviceAccounts(org))],
  ["trust_policy.", ({ org, stale }) => stale.invalidate(keys.serviceAccounts(org))],
  ["token.", ({ org, stale }) => stale.invalidate(keys.tokens(org))],
  ["secret.", ({ org, stale }) => stale.invalidate(keys.secrets(org))],
  ["registry.", ({ org, stale }) => stale.invalidate(keys.stepRegistries(org))],
  ["forge.", ({ org, stale }) => stale.invalidate(keys.forges(org))],
  ["analysis_settings.", ({ org, stale }) => stale.invalidate(keys.analysisSettings(org))],
  ["step.", ({ org, stale }) => stale.invalidate(keys.stepRegistries(org))],
  ["runner", ({ org, stale }) => [keys.runners(org), keys.pools(org)].forEach((key) => stale.invalidate(key))],
  ["organization.", ({ org, stale }) => stale.invalidate(keys.record(org))],
];

export function applyEvents(cache: Cache, events: readonly Event[]): void {
  for (const event of events) {
    const row = TABLE.find(([prefix]) => event.type.startsWith(prefix));
    row?.[1](cache, event, afterOf(event));
  }
}

function onSession(cache: Cache, event: Event, after: After): void {
  const { org, stale } = cache;
  const { lock, envName, pipelineId, sessionId } = after;
  if (concernsUser(cache, event, after)) {
    stale.invalidate(keys.mySessions(org));
    stale.invalidate(keys.notices(org));
  }
  stale.invalidate(keys.summary(org));
  if (sessionId) stale.invalidate(keys.session(org, sessionId));
  if (!pipelineId || !envName) return;
  for (const pipeline of namesOf(pipelineId)) {
    stale.invalidate(keys.queue(org, pipeline, envName));
    stale.invalidate(keys.history(org, pipeline, envName));
  }
  if (lock) patchEnvironment(cache, after, (environment) => patchLock(environment, lock, event.time));
  else eachEnvironment(org, after, (key) => stale.invalidate(key));
}

/** Whether the event can change the list of this person's sessions: theirs, or one before theirs in a queue. */
function concernsUser({ org, user, queries }: Cache, event: Event, { lock, envName, sessionId }: After): boolean {
  const mine = queries.getQueryData<readonly ListedSession[]>(keys.mySessions(org));
  if (!mine || !lock || actorOf(event) === user || lock.holder?.id === user) return true;
  return mine.some((session) => session.sessionId === sessionId || session.envName === envName);
}

function onDeployment(cache: Cache, event: Event, after: After): void {
  const { org, stale } = cache;
  const { deployment, deploymentId, pipelineId } = after;
  stale.invalidate(keys.deployments(org));
  // Only whole deployments work in lasting environments.
  if (!deployment || deployment.purpose === "pipeline") stale.invalidate(keys.lasting(org));
  const isOfStage = event.type.startsWith("deployment.stage.");
  if (!isOfStage) stale.invalidate(keys.summary(org));
  for (const pipeline of pipelineId ? namesOf(pipelineId) : []) {
    stale.invalidate(keys.pipelineDeployments(org, pipeline));
    // The history lists the deployments of each session.
    if (after.envName && !isOfStage) stale.invalidate(keys.history(org, pipeline, after.envName));
  }
  if (after.sessionId) stale.invalidate(keys.session(org, after.sessionId));
  if (!deployment) {
    if (deploymentId) stale.invalidate(keys.deployment(org, deploymentId));
    eachEnvironment(org, after, (key) => stale.invalidate(key));
    return;
  }
  patch<Deployment>(cache, keys.deployment(org, deployment.id), (cached) => patchDeployment(cached, deployment));
  // Which environments it has left out is not part of an event.
  if (deployment.status === "succeeded" && deployment.purpose === "pipeline")
    stale.invalidate(keys.deployment(org, deployment.id));
  patchEnvironment(cache, after, (environment) => patchEnvironmentDeployment(environment, deployment));
}

function onStage(cache: Cache, event: Event, after: After): void {
  const { stage, deployment, deploymentId } = after;
  if (deployment) onDeployment(cache, event, after);
  if (!deploymentId) return;
  const key = keys.deployment(cache.org, deploymentId);
  if (stage) patch<Deployment>(cache, key, (cached) => patchStage(cached, stage));
  // An event has no steps, so an open deployment is read again. A stage that failed or runs again changes the evidence.
  cache.stale.invalidate(key);
  cache.stale.invalidate(keys.evidence(cache.org, deploymentId));
}

/** The evidence of a failure was collected, or an analysis or a fix of it has changed: their reads are below its key. */
function onFailure({ org, stale }: Cache, _: Event, { deploymentId }: After): void {
  stale.invalidate(keys.failures(org));
  if (deploymentId) stale.invalidate(keys.evidence(org, deploymentId));
}

/** Lists and votes are read again, and so is the deployment that waits for them. */
function onApproval({ org, stale }: Cache, _: Event, { deploymentId }: After): void {
  stale.invalidate(keys.approvals(org));
  if (deploymentId) stale.invalidate(keys.deployment(org, deploymentId));
}

/** Holds and freezes change what begins in lasting environments, and what deployments there wait for. */
function onGate({ org, stale }: Cache, event: Event): void {
  if (event.type.startsWith("freeze.")) stale.invalidate(keys.freezes(org));
  stale.invalidate(keys.lasting(org));
  stale.invalidate(keys.everyDeployment(org));
}

function onPipeline({ org, stale }: Cache, event: Event): void {
  stale.invalidate(keys.pipelines(org));
  stale.invalidate(keys.summary(org));
  const id = event.subject.split("/")[1];
  if (!id) return;
  for (const pipeline of namesOf(id)) {
    stale.invalidate(keys.pipeline(org, pipeline));
    if (event.type !== "pipeline.updated") continue;
    stale.invalidate(keys.stepUsage(org));
    stale.invalidate(keys.lasting(org));
    stale.invalidate(keys.allEnvironments(org));
    stale.invalidate(keys.environments(org, pipeline));
  }
}

/** Calls `visit` with the key of each list that can contain the environment, and of its own read. */
function eachEnvironment(org: string, { pipelineId, envName }: After, visit: (key: QueryKey) => void): void {
  if (!pipelineId) return;
  visit(keys.allEnvironments(org));
  for (const pipeline of namesOf(pipelineId)) {
    visit(keys.environments(org, pipeline));
    if (envName) visit(keys.environment(org, pipeline, envName));
  }
}

function patchEnvironment(cache: Cache, after: After, change: (environment: Environment) => Environment): void {
  const { pipelineId, envName } = after;
  if (!pipelineId || !envName) return;
  patchAllLists(cache, pipelineId, envName, change);
  for (const pipeline of namesOf(pipelineId)) {
    patch<Environment>(cache, keys.environment(cache.org, pipeline, envName), change);
    const list = keys.environments(cache.org, pipeline);
    patch<Environment[]>(cache, list, (cached) => {
      const index = cached.findIndex((environment) => environment.envName === envName);
      const old = cached[index];
      if (!old) {
        // Created from a template, or listed again: the event does not contain its configuration.
        cache.stale.invalidate(list);
        return cached;
      }
      const next = change(old);
      return next === old ? cached : cached.with(index, next);
    });
  }
}

/** Changes the environment in each list of all pipelines. Whether it still matches a filter, only the server knows. */
function patchAllLists(
  cache: Cache,
  pipelineId: string,
  envName: string,
  change: (environment: Environment) => Environment,
): void {
  const lists = cache.queries.getQueryCache().findAll({ queryKey: keys.allEnvironments(cache.org) });
  for (const { queryKey } of lists) {
    patch<EnvironmentPage>(cache, queryKey, (page) => {
      const index = page.data.findIndex((old) => old.envName === envName && old.pipelineId === pipelineId);
      const old = page.data[index];
      const isFiltered = Object.keys(queryKey[3] ?? {}).length > 0;
      if (!old || isFiltered) cache.stale.invalidate(queryKey);
      if (!old) return page;
      const next = change(old);
      return next === old ? page : { ...page, data: page.data.with(index, { ...old, ...next }) };
    });
  }
}

/** Changes a cached read. If it is being read at the same time, the response may be older: it is read again. */
function patch<Data>({ queries, stale }: Cache, key: QueryKey, change: (data: Data) => Data): void {
  const state = queries.getQueryState<Data>(key);
  if (!state) return;
  if (state.data !== undefined) {
    const next = change(state.data);
    if (next !== state.data) queries.setQueryData<Data>(key, next);
  }
  if (state.fetchStatus === "fetching") stale.invalidate(key);
}
