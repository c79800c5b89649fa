import { expect, test } from "vitest";
import type { Environment, Lock } from "@/api/types";
import type { EventDeployment } from "./after";
import { patchEnvironmentDeployment, patchLock } from "./patch";

const TIME = "2026-11-16T10:00:00Z";
const free: Lock = { status: "free", queueLength: 0 };
const held = (fence: number): Lock => ({ status: "locked", queueLength: 0, fence, sessionId: `ses_${fence}` });

function environment(lock: Lock, more: Partial<Environment> = {}): Environment {
  return {
    envName: "qa-1",
    labels: [],
    configuration: {},
    lock,
    freeSince: null,
    workSlot: null,
    ...more,
  } as Environment;
}

function deployment(more: Partial<EventDeployment> = {}): EventDeployment {
  return {
    id: "dep_1",
    purpose: "session",
    commitId: "9f3c2a1",
    status: "running",
    createdAt: TIME,
    startedAt: TIME,
    waitingOn: [],
    ...more,
  };
}

test("a lock with a lower fence is stale", () => {
  const cached = environment(held(7));
  expect(patchLock(cached, held(6), TIME)).toBe(cached);
  expect(patchLock(cached, held(8), TIME).lock.sessionId).toBe("ses_8");
});

test("a release sets since when the environment is free, a claim removes it", () => {
  expect(patchLock(environment(held(7)), free, TIME).freeSince).toBe(TIME);
  expect(patchLock(environment(free, { freeSince: TIME }), held(8), TIME).freeSince).toBeNull();
});

test("a change of the queue of a free environment keeps since when it is free", () => {
  const later = "2026-11-16T11:00:00Z";
  expect(patchLock(environment(free, { freeSince: TIME }), { ...free, queueLength: 1 }, later).freeSince).toBe(TIME);
});

test("a running deployment takes the work slot and gives it back", () => {
  const running = patchEnvironmentDeployment(environment(held(1)), deployment());
  expect(running.workSlot).toMatchObject({ deploymentId: "dep_1", purpose: "session" });
  expect(running.lastDeployment).toMatchObject({ id: "dep_1", status: "running" });
  const ended = patchEnvironmentDeployment(running, deployment({ status: "succeeded", endedAt: TIME }));
  expect(ended.workSlot).toBeNull();
  expect(ended.deployed).toEqual({ deploymentId: "dep_1", commitId: "9f3c2a1", at: TIME });
});

test("a queued deployment does not take the work slot", () => {
  const queued = deployment({ status: "queued", startedAt: null });
  expect(patchEnvironmentDeployment(environment(held(1)), queued).workSlot).toBeNull();
});

test("a teardown is never the last deployment, and ends what is deployed", () => {
  const cached = patchEnvironmentDeployment(environment(held(1)), deployment({ status: "succeeded", endedAt: TIME }));
  const teardown = deployment({ id: "dep_2", purpose: "teardown", status: "succeeded", endedAt: TIME });
  const next = patchEnvironmentDeployment(cached, teardown);
  expect(next.lastDeployment?.id).toBe("dep_1");
  expect(next.deployed).toBeNull();
});

test("an older deployment does not replace a newer one", () => {
  const cached = patchEnvironmentDeployment(environment(held(1)), deployment());
  const older = deployment({ id: "dep_0", createdAt: "2026-11-16T09:00:00Z", status: "canceled" });
  expect(patchEnvironmentDeployment(cached, older).lastDeployment?.id).toBe("dep_1");
});
