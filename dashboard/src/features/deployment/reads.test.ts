import { expect, test } from "vitest";
import type { DeploymentSecretRead, Stage } from "@/api/types";
import { secretsOf } from "./reads";

const read = (other: Partial<DeploymentSecretRead>): DeploymentSecretRead => ({
  secretId: "sec_1",
  secretName: "shop-deploy-key",
  version: 1,
  versionStatus: "retired",
  deploymentId: "dep_1",
  stage: "deploy",
  attempt: 1,
  jobId: "job_1",
  stepRunId: "stp_1",
  runnerId: "run_1",
  at: "2026-01-01T00:00:00Z",
  ...other,
});

const stages = [{ key: "deploy", name: "Deploy", steps: [{ id: "stp_1", name: "roll-out" }] }] as unknown as Stage[];

test("a version that several steps have read is listed once, with its places", () => {
  const [secret, ...rest] = secretsOf([read({}), read({ stepRunId: "stp_2" })], stages);
  expect(rest).toEqual([]);
  expect(secret?.places.map(({ name }) => name)).toEqual(["Deploy / roll-out", "Deploy"]);
});

test("two versions of a secret are two entries, and the active one comes first", () => {
  const found = secretsOf([read({}), read({ version: 2, versionStatus: "active", stepRunId: "stp_2" })], stages);
  expect(found.map(({ version }) => version)).toEqual([2, 1]);
});

test("what the platform has read belongs to the stage", () => {
  const [secret] = secretsOf([read({ stepRunId: null, stage: "build" })], stages);
  expect(secret?.places).toEqual([{ key: "job_1", stage: "build", stepRunId: undefined, name: "build" }]);
});
