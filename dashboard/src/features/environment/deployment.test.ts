import { expect, test } from "vitest";
import type { Environment } from "@/api/types";
import { deploymentLineOf } from "./deployment";

const TIME = "2026-11-16T10:00:00Z";
const HELD = { status: "locked", queueLength: 0 };
const last = (more: object) => ({
  id: "dep_1",
  purpose: "session",
  commitId: "9f3c2a1b7d",
  createdAt: TIME,
  waitingOn: [],
  ...more,
});

function line(lastDeployment: object | null, more: object = {}) {
  const environment = { envName: "qa-1", lock: HELD, deployed: { deploymentId: "dep_1" }, lastDeployment, ...more };
  return deploymentLineOf(environment as unknown as Environment);
}

test.each([
  [{ status: "succeeded", endedAt: TIME }, "Deployed", "green"],
  [{ status: "running", startedAt: TIME }, "Deploying", "blue"],
  [{ status: "failed", endedAt: TIME }, "Failed", "red"],
  [
    { status: "waiting", waitingOn: [{ kind: "runner", stage: "build", pool: "default" }] },
    "Waiting for a runner",
    "amber",
  ],
  [{ status: "queued", waitingOn: [{ kind: "pipeline_stopped" }] }, "Pipeline stopped", "amber"],
  [{ status: "queued" }, "Queued", "slate"],
])("%o reads %s", (more, word, tone) => {
  expect(line(last(more))).toMatchObject({ id: "dep_1", word, state: { tone }, commit: "9f3c2a1" });
});

test("a teardown is shown while it runs", () => {
  const workSlot = { deploymentId: "dep_2", purpose: "teardown", commitId: "4b825dc0" };
  expect(line(last({ status: "succeeded" }), { workSlot })).toMatchObject({
    id: "dep_2",
    word: "Teardown",
    commit: "4b825dc",
  });
});

test("in a free environment the last deployment is called the last one", () => {
  expect(line(last({ status: "succeeded" }), { lock: { status: "free", queueLength: 0 } })?.word).toBe(
    "Last: deployed",
  );
  expect(line(null)).toBeUndefined();
});

test("what was torn down is not called deployed, whoever holds the environment", () => {
  for (const deployed of [null, { deploymentId: "dep_0" }]) {
    const gone = line(last({ status: "succeeded", endedAt: TIME }), { deployed });
    expect(gone).toMatchObject({ word: "Last: deployed", state: { tone: "slate" } });
  }
});
