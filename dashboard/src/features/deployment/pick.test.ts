import { expect, test } from "vitest";
import type { Deployment, Stage, StepRun } from "@/api/types";
import {
  approvalOf,
  canRetry,
  causeOf,
  failureOf,
  hasFailed,
  isFrozen,
  outdatedIn,
  pickStage,
  pickStep,
  titleOf,
} from "./pick";

const step = (id: string, status: string) => ({ id, name: id, status }) as StepRun;
const stage = (key: string, status: string, ...steps: StepRun[]) =>
  ({ key, name: key, status, steps, needs: [] }) as unknown as Stage;

const stages = [
  stage("build", "succeeded"),
  stage("deploy", "failed", step("s1", "succeeded"), step("s2", "failed")),
  stage("release", "skipped"),
];

test("a deployment opens on the failed stage and step, unless the address names others", () => {
  expect(pickStage(stages, undefined)?.key).toBe("deploy");
  expect(pickStage(stages, "build")?.key).toBe("build");
  expect(pickStage(stages, "gone")?.key).toBe("deploy");
  expect(pickStep(stages[1]?.steps ?? [], undefined)?.id).toBe("s2");
});

test("else on the running one, else on the last that succeeded", () => {
  expect(pickStage([stage("a", "succeeded"), stage("b", "running")], undefined)?.key).toBe("b");
  expect(pickStage([stage("a", "succeeded"), stage("b", "succeeded"), stage("c", "skipped")], undefined)?.key).toBe(
    "b",
  );
  expect(pickStage([], undefined)).toBeUndefined();
});

test("the failure is named only if the deployment has failed", () => {
  expect(failureOf({ status: "failed", stages })?.step.id).toBe("s2");
  expect(failureOf({ status: "running", stages })).toBeUndefined();
});

test("a stage that failed has evidence while other stages go on", () => {
  expect(hasFailed({ stages: [stage("unit", "errored"), stage("lint", "running")] })).toBe(true);
  expect(hasFailed({ stages: [stage("unit", "running"), stage("lint", "canceled")] })).toBe(false);
  expect(hasFailed({})).toBe(false);
});

test("a stage is retried only if it and its deployment have ended without success", () => {
  expect(canRetry("failed", "failed")).toBe(true);
  expect(canRetry("running", "failed")).toBe(false);
  expect(canRetry("failed", "succeeded")).toBe(false);
});

test("a stage that was skipped with others leads to the one that was the cause", () => {
  const needs = (key: string, needed: string[], status: string, reason?: string) =>
    ({ ...stage(key, status), needs: needed, reason }) as Stage;
  const all = [
    needs("build", [], "succeeded"),
    needs("scan", [], "failed", "step_failed"),
    needs("deploy", ["build", "scan"], "skipped", "upstream_failed"),
    needs("verify", ["deploy"], "skipped", "upstream_skipped"),
  ];
  const cause = (key: string) => {
    const found = all.find((one) => one.key === key);
    return found && causeOf(found, all)?.key;
  };
  expect(cause("deploy")).toBe("scan");
  expect(cause("verify")).toBe("scan");
  expect(cause("scan")).toBeUndefined();
});

test("an outdated deployment names each environment that it did not reach once", () => {
  const outdated = (key: string, environment: string) => ({
    ...stage(key, "skipped"),
    reason: "outdated",
    environment,
  });
  const stages = [stage("build", "succeeded"), outdated("migrate", "production"), outdated("release", "production")];
  expect(outdatedIn({ stages: stages as Stage[] })).toEqual(["production"]);
  expect(outdatedIn({})).toEqual([]);
});

test("the gates that a stage waits for are found by its key", () => {
  const waitingOn = [
    { kind: "approval", stage: "release", approvalId: "apr_1" },
    { kind: "approval", stage: "notify" },
    { kind: "freeze", stage: "migrate" },
  ] as Deployment["waitingOn"];
  expect(approvalOf({ waitingOn }, "release")).toBe("apr_1");
  expect(approvalOf({ waitingOn }, "notify")).toBeUndefined();
  expect(approvalOf({ waitingOn }, "migrate")).toBeUndefined();
  expect(isFrozen({ waitingOn }, "migrate")).toBe(true);
  expect(isFrozen({ waitingOn }, "release")).toBe(false);
});

test("a teardown is not titled as a deployment", () => {
  const of = { commitId: "9f3c2a1b7d", envName: "load-2", pipeline: "storefront" };
  expect(titleOf({ ...of, purpose: "teardown" })).toBe("Teardown of load-2");
  expect(titleOf({ ...of, purpose: "session" })).toBe("9f3c2a1 to load-2");
  expect(titleOf({ ...of, envName: null, purpose: "pipeline" })).toBe("9f3c2a1 to storefront");
});
