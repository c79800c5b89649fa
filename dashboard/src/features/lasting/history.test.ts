import { expect, test } from "vitest";
import type { EnvironmentDeployment, Stage } from "@/api/types";
import { historyRows, notesOf, rollbackOf } from "./history";

const at = (minute: number) => new Date(minute * 60_000).toISOString();

function entry(id: string, outcome: string | null, ended: number | null, live = false): EnvironmentDeployment {
  const endedAt = ended === null ? null : at(ended);
  return { deploymentId: id, outcome, endedAt, live } as unknown as EnvironmentDeployment;
}

const minutes = (entries: EnvironmentDeployment[], now: number, isFromStart = true) =>
  historyRows(entries, now * 60_000, isFromStart).map(({ liveFor }) => liveFor && liveFor / 60_000);

test("a deployment is live until the next one has succeeded", () => {
  const entries = [entry("e", null, null), entry("d", "succeeded", 50, true), entry("c", "failed", 40)];
  expect(minutes([...entries, entry("b", "succeeded", 20), entry("a", "succeeded", 10)], 60)).toEqual([
    undefined,
    10,
    undefined,
    30,
    10,
  ]);
});

test("the end of the first one is not known if newer ones are not loaded", () => {
  expect(minutes([entry("b", "succeeded", 20), entry("a", "succeeded", 10)], 60, false)).toEqual([undefined, 10]);
});

const offered = (...entries: EnvironmentDeployment[]) =>
  historyRows(entries, 0, true).flatMap(({ deploymentId, canRollBack }, index) =>
    canRollBack ? [`${deploymentId}${index}`] : [],
  );

test("a rollback leads to what has succeeded and is not live", () => {
  expect(offered(entry("c", "succeeded", 3, true), entry("b", "failed", 2), entry("a", "succeeded", 1))).toEqual([
    "a2",
  ]);
});

test("a deployment that is live again, or works there, is not offered, and others once", () => {
  expect(
    offered(
      entry("d", null, null),
      entry("a", "succeeded", 5, true),
      entry("b", "succeeded", 4),
      entry("d", "succeeded", 3),
      entry("b", "succeeded", 2),
      entry("a", "succeeded", 1),
    ),
  ).toEqual(["b2"]);
});

test("the history names who retried, rolled back and overrode", () => {
  const [maya, june] = ["Maya Berg", "June Park"].map((name) => ({ id: `usr_${name}`, name }));
  const of = (more: object) =>
    notesOf({ by: maya, createdBy: maya, rollback: false, ...more } as EnvironmentDeployment);
  const gates = ["approval", "freeze"];
  const overrides = [{ by: june, gates, reason: "the shop is down", at: at(1) }];
  expect(of({})).toEqual([]);
  expect(of({ createdBy: undefined })).toEqual([]);
  expect(of({ createdBy: june })).toEqual(["retried the deployment of June Park"]);
  expect(of({ createdBy: june, rollback: true })).toEqual(["rolled back to the deployment of June Park"]);
  expect(of({ overrides })).toEqual(["June Park overrode the approval and the freeze: “the shop is down”"]);
});

const stage = (key: string, needs: string[], environment: string | null = null, attempt = 1) =>
  ({ key, name: key, needs, environment, attempt }) as unknown as Stage;

const stages = [
  stage("build", []),
  stage("try-out", ["build"], "staging"),
  stage("migrate", ["try-out"], "production"),
  stage("check", ["migrate"]),
  stage("release", ["check"], "production"),
];

const keysOf = (environment: string, of = stages) => {
  const rollback = rollbackOf(of, environment);
  return rollback && [rollback.first.key, rollback.repeated.map(({ key }) => key)];
};

test("a rollback repeats the first stage of the environment and all that need it", () => {
  expect(keysOf("production")).toEqual(["migrate", ["migrate", "check", "release"]]);
  expect(keysOf("staging")).toEqual(["try-out", ["try-out", "migrate", "check", "release"]]);
});

test("no single stage begins there: nothing is offered", () => {
  expect(keysOf("customer")).toBeUndefined();
  expect(keysOf("production", [stage("a", [], "production"), stage("b", [], "production")])).toBeUndefined();
  expect(keysOf("production", [stage("a", [], "production", 0)])).toBeUndefined();
});
