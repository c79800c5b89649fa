// A deployment that has ended, for the tests that look at it.
import type { Api, TestPipeline } from "./api";
import { expect } from "./fixtures";

export const COMMIT = "9f3c2a1e5512aa77ab0e21d20c4fa90f11b4b825";

export type Deployment = { id: string; status: string };

/** Waits for the end of a deployment. */
export async function ended(api: Api, id: string): Promise<Deployment> {
  const read = () => api.get<Deployment>(`/deployments/${id}`);
  await expect
    .poll(async () => (await read()).status, { timeout: 90_000, intervals: [500] })
    .toMatch(/succeeded|failed|errored/);
  return read();
}

/** Claims the environment with a commit and returns the deployment when it has ended. */
export async function deploy(api: Api, at: TestPipeline, env: string): Promise<Deployment> {
  const session = await at.claim("developer", env, { commitId: COMMIT });
  const read = () => api.get<{ deployments: Deployment[] }>(`${at.environment(env)}/sessions/${session.sessionId}`);
  await expect
    .poll(async () => (await read()).deployments[0]?.status, { timeout: 90_000, intervals: [1_000] })
    .toMatch(/succeeded|failed|errored/);
  return (await read()).deployments[0] as Deployment;
}
