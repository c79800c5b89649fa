import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { recordAlias } from "@/api/aliases";
import { analysesQuery } from "@/api/analysis";
import { fixesQuery } from "@/api/fix";
import { keys } from "@/api/keys";
import type { Environment, Event } from "@/api/types";
import { applyEvents } from "./apply";

recordAlias({ id: "pip_1", slug: "storefront" });

const board = keys.environments("acme", "storefront");

function environment(envName: string): Environment {
  return { envName, labels: [], configuration: {}, lock: { status: "free", queueLength: 0 } } as unknown as Environment;
}

function event(type: string, after: Record<string, unknown>): Event {
  return {
    type,
    sequence: 1,
    time: "2026-11-16T10:00:00Z",
    subject: "pipelines/pip_1",
    data: { after },
  } as unknown as Event;
}

function cache() {
  const queries = new QueryClient();
  queries.setQueryData(board, [environment("qa-1"), environment("qa-2")]);
  const invalidate = vi.fn();
  return { org: "acme", user: "usr_1", queries, stale: { invalidate }, invalidate };
}

const names = { pipelineId: "pip_1", envName: "qa-1", sessionId: "ses_1" };

test("a whole event changes one card and reads nothing of the board", () => {
  const target = cache();
  const before = target.queries.getQueryData<Environment[]>(board);
  const lock = { status: "locked", queueLength: 0, fence: 1, sessionId: "ses_1" };
  applyEvents(target, [event("session.claimed", { ...names, lock })]);
  const after = target.queries.getQueryData<Environment[]>(board);
  expect(after?.[0]?.lock).toEqual(lock);
  expect(after?.[1]).toBe(before?.[1]);
  expect(target.invalidate).not.toHaveBeenCalledWith(board);
});

test("a session of this person that ends is read again, with the notice about it", () => {
  const target = cache();
  target.queries.setQueryData(keys.mySessions("acme"), [{ sessionId: "ses_1", envName: "qa-1" }]);
  const lock = { status: "locked", queueLength: 0, fence: 3, sessionId: "ses_2" };
  applyEvents(target, [event("session.overridden", { ...names, envName: "qa-2", sessionId: "ses_9", lock })]);
  expect(target.invalidate).not.toHaveBeenCalledWith(keys.notices("acme"));
  applyEvents(target, [event("session.overridden", { ...names, lock })]);
  expect(target.invalidate).toHaveBeenCalledWith(keys.mySessions("acme"));
  expect(target.invalidate).toHaveBeenCalledWith(keys.notices("acme"));
});

test("an event without a lock makes the board stale", () => {
  const target = cache();
  applyEvents(target, [event("session.claimed", names)]);
  expect(target.invalidate).toHaveBeenCalledWith(board);
});

test("an environment that is not on the board yet makes the board stale", () => {
  const target = cache();
  const lock = { status: "locked", queueLength: 0 };
  applyEvents(target, [event("session.claimed", { ...names, envName: "pr-7", lock })]);
  expect(target.invalidate).toHaveBeenCalledWith(board);
});

test("a board that is being read while it is changed is read again", async () => {
  const target = cache();
  void target.queries.fetchQuery({
    queryKey: board,
    queryFn: () => new Promise<Environment[]>(() => undefined),
    staleTime: 0,
  });
  applyEvents(target, [event("session.claimed", { ...names, lock: { status: "locked", queueLength: 0 } })]);
  expect(target.invalidate).toHaveBeenCalledWith(board);
});

const everything = (filter: Record<string, string>) => [...keys.allEnvironments("acme"), filter, 0];

function cacheAll(filter: Record<string, string>) {
  const target = cache();
  const listed = { ...environment("qa-1"), pipelineId: "pip_1", pipeline: "storefront" };
  const other = { ...environment("qa-1"), pipelineId: "pip_2", pipeline: "search" };
  target.queries.setQueryData(everything(filter), { data: [other, listed], pagination: {} });
  return target;
}

test("the board of all pipelines changes in place, by pipeline and name", () => {
  const target = cacheAll({});
  const lock = { status: "locked", queueLength: 0, fence: 1 };
  applyEvents(target, [event("session.claimed", { ...names, lock })]);
  const page = target.queries.getQueryData<{ data: Environment[] }>(everything({}));
  expect(page?.data.map((shown) => shown.lock.status)).toEqual(["free", "locked"]);
  expect(target.invalidate).not.toHaveBeenCalledWith(everything({}));
});

test("a list with a filter is also read again, because the environment may not match it any more", () => {
  const target = cacheAll({ status: "free" });
  applyEvents(target, [event("session.claimed", { ...names, lock: { status: "locked", queueLength: 0 } })]);
  expect(target.invalidate).toHaveBeenCalledWith(everything({ status: "free" }));
});

test("sessions, deployments and pipelines make the counts stale, stages do not", () => {
  const stage = cache();
  applyEvents(stage, [event("deployment.stage.started", { ...names, deploymentId: "dep_1" })]);
  expect(stage.invalidate).not.toHaveBeenCalledWith(keys.summary("acme"));
  for (const type of ["session.released", "deployment.started", "pipeline.stopped"]) {
    const target = cache();
    applyEvents(target, [event(type, names)]);
    expect(target.invalidate).toHaveBeenCalledWith(keys.summary("acme"));
  }
});

test("a deployment is counted in the history of its environment, its stages are not", () => {
  const history = keys.history("acme", "storefront", "qa-1");
  const stage = cache();
  applyEvents(stage, [event("deployment.stage.started", { ...names, deploymentId: "dep_1" })]);
  expect(stage.invalidate).not.toHaveBeenCalledWith(history);
  const target = cache();
  applyEvents(target, [event("deployment.queued", { ...names, deploymentId: "dep_1" })]);
  expect(target.invalidate).toHaveBeenCalledWith(history);
});

test("events of unknown types change nothing", () => {
  const target = cache();
  applyEvents(target, [event("kettle.boiled", names), { ...event("session.claimed", {}), data: null } as Event]);
  expect(target.queries.getQueryData<Environment[]>(board)?.[0]?.lock.status).toBe("free");
});

test("an event of a secret makes its page and all lists of secrets stale", () => {
  const target = cache();
  applyEvents(target, [event("secret.value_set", {})]);
  expect(target.invalidate.mock.calls).toEqual([[keys.secrets("acme")]]);
  expect(keys.secret("acme", "sec_1").slice(0, 3)).toEqual(keys.secrets("acme"));
});

test("a hold makes lasting environments and what deployments wait for stale, and no ephemeral ones", () => {
  for (const type of ["environment.held", "environment.hold_ended"]) {
    const target = cache();
    applyEvents(target, [event(type, { pipelineId: "pip_1", environment: "production" })]);
    expect(target.invalidate.mock.calls).toEqual([[keys.lasting("acme")], [keys.everyDeployment("acme")]]);
  }
  expect(keys.deployment("acme", "dep_1").slice(0, 3)).toEqual(keys.everyDeployment("acme"));
});

test("a freeze makes the list of freezes stale as well", () => {
  for (const type of ["freeze.created", "freeze.updated", "freeze.ended"]) {
    const target = cache();
    applyEvents(target, [event(type, {})]);
    expect(target.invalidate).toHaveBeenCalledWith(keys.freezes("acme"));
    expect(target.invalidate).toHaveBeenCalledWith(keys.lasting("acme"));
  }
});

test("deployments of the whole pipeline make lasting environments stale, those of sessions do not", () => {
  const of = (purpose: string) => ({ pipelineId: "pip_1", deployment: { id: "dep_1", status: "succeeded", purpose } });
  const whole = cache();
  applyEvents(whole, [event("deployment.succeeded", of("pipeline"))]);
  expect(whole.invalidate).toHaveBeenCalledWith(keys.lasting("acme"));
  const session = cache();
  applyEvents(session, [event("deployment.succeeded", of("session"))]);
  expect(session.invalidate).not.toHaveBeenCalledWith(keys.lasting("acme"));
});

test("a vote reads approvals again, and the deployment that waits for it", () => {
  const target = cache();
  applyEvents(target, [event("approval.voted", { approvalId: "apr_1", deploymentId: "dep_1" })]);
  expect(target.invalidate.mock.calls.map(([key]) => key)).toEqual([
    keys.approvals("acme"),
    keys.deployment("acme", "dep_1"),
  ]);
});

test.each([
  ["group.member_added", [keys.groups("acme"), keys.grants("acme")]],
  ["grant.created", [keys.grants("acme")]],
  ["service_account.deleted", [keys.serviceAccounts("acme")]],
  ["trust_policy.created", [keys.serviceAccounts("acme")]],
  ["registry.updated", [keys.stepRegistries("acme")]],
  ["forge.updated", [keys.forges("acme")]],
  ["analysis_settings.updated", [keys.analysisSettings("acme")]],
  ["step.published", [keys.stepRegistries("acme")]],
])("%s reads only what it can change", (type, expected) => {
  const target = cache();
  applyEvents(target, [event(type, {})]);
  expect(target.invalidate.mock.calls.map(([key]) => key)).toEqual(expected);
});

test("a new definition can use other steps; the reads of a registry are below the key of all", () => {
  const target = cache();
  applyEvents(target, [event("pipeline.updated", {})]);
  expect(target.invalidate).toHaveBeenCalledWith(keys.stepUsage("acme"));
  expect(keys.stepRegistry("acme", "reg_1").slice(0, 3)).toEqual(keys.stepRegistries("acme"));
});

test("analyses and fixes are read again with the evidence of the deployment that has failed", () => {
  const evidence = keys.evidence("acme", "dep_1");
  for (const { queryKey } of [analysesQuery("acme", "dep_1"), fixesQuery("acme", "dep_1", "ana_1")])
    expect(queryKey.slice(0, evidence.length)).toEqual(evidence);
  for (const type of ["analysis.succeeded", "analysis.feedback_given", "fix.requested", "fix.opened"]) {
    const target = cache();
    applyEvents(target, [event(type, { pipelineId: "pip_1", deploymentId: "dep_1", fixId: "fix_1" })]);
    expect(target.invalidate, type).toHaveBeenCalledWith(evidence);
  }
});

test("evidence is read again when a stage changes, and when it was collected", () => {
  const evidence = keys.evidence("acme", "dep_1");
  for (const type of ["deployment.stage.failed", "failure.recorded"]) {
    const target = cache();
    applyEvents(target, [event(type, { pipelineId: "pip_1", deploymentId: "dep_1" })]);
    expect(target.invalidate, type).toHaveBeenCalledWith(evidence);
  }
  const target = cache();
  applyEvents(target, [event("failure.recorded", { pipelineId: "pip_1" })]);
  expect(target.invalidate.mock.calls).toEqual([[keys.failures("acme")]]);
});
