import { expect, test } from "vitest";
import type { Environment, Lock } from "@/api/types";
import { actionsOf, canForce } from "./actions";
import { type Viewer, viewOf } from "./view";

const MAYA: Viewer = { userId: "usr_maya", role: "developer", places: new Map() };
const held = (id: string, more: Partial<Lock> = {}): Lock => ({
  status: "locked",
  queueLength: 0,
  holder: { id, name: id, kind: "user" },
  ...more,
});

function environment(lock: Lock, configuration: unknown = {}): Environment {
  return { envName: "qa-1", labels: [], configuration, lock } as unknown as Environment;
}

const verbs = (subject: Environment, viewer = MAYA) =>
  actionsOf(subject, viewOf(subject, viewer), viewer).map(({ verb }) => verb);

test("each state has its actions", () => {
  expect(verbs(environment({ status: "free", queueLength: 0 }))).toEqual(["claim"]);
  expect(verbs(environment(held("usr_maya")))).toEqual(["deploy", "renew", "release"]);
  expect(verbs(environment(held("usr_maya", { confirmBy: "2026-11-16T10:00:00Z" })))).toEqual(["take", "pass"]);
  expect(verbs(environment(held("usr_tomas")))).toEqual(["ask", "queue"]);
});

test("a free environment with a queue is not claimed past it", () => {
  expect(verbs(environment({ status: "free", queueLength: 1 }))).toEqual(["queue"]);
});

test("a viewer sees the actions and why they are not for viewers", () => {
  const viewer: Viewer = { ...MAYA, role: "viewer" };
  const subject = environment({ status: "free", queueLength: 0 });
  expect(actionsOf(subject, viewOf(subject, viewer), viewer)[0]?.why).toMatch(/viewer/);
});

test("force needs the role of the environment, and somebody else who holds it", () => {
  const subject = environment(held("usr_tomas"), { force: { role: "maintainer" } });
  const may = (viewer: Viewer, target = subject) => canForce(target, viewOf(target, viewer), viewer);
  expect(may(MAYA)).toBe(false);
  expect(may({ ...MAYA, role: "maintainer" })).toBe(true);
  expect(may(MAYA, environment(held("usr_tomas")))).toBe(true);
  expect(may(MAYA, environment(held("usr_maya")))).toBe(false);
});

test("force stays within reach while a hand-over is pending", () => {
  const handover = { requestedBy: { id: "usr_june", name: "June" } } as unknown as Lock["handover"];
  const subject = environment(held("usr_tomas", { handover }), { force: { role: "maintainer" } });
  expect(verbs(subject, { ...MAYA, role: "maintainer" })).toEqual(["queue", "force"]);
  expect(verbs(subject)).toEqual(["queue"]);
  const inLine = new Map([["qa-1", { sessionId: "ses_1", position: 1 }]]) as unknown as Viewer["places"];
  expect(verbs(subject, { ...MAYA, role: "maintainer", places: inLine })).toEqual(["leave", "force"]);
  expect(verbs(environment(held("usr_maya", { handover })))).toEqual(["deploy", "renew", "release"]);
});
