// The page of an environment and that of a session.
import { Api, createPipeline, environmentsOf, type TestPipeline } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { stackOf } from "./support/stack";

let pipeline: TestPipeline;

test.beforeAll(async () => {
  pipeline = await createPipeline(new Api(stackOf()), environmentsOf(["qa-1", "qa-2"]));
});

const path = (env: string) => `/o/acme/pipelines/${pipeline.slug}/environments/${env}`;

test("who holds it, who waits, and what happened before", async ({ open }) => {
  await pipeline.claim("developer", "qa-1", { context: "Checkout fix" });
  await pipeline.claim("secondDeveloper", "qa-1", { context: "next please", queue: true });
  const page = await open("developer", path("qa-1"));
  await settled(page);
  await expect(page.getByRole("heading", { level: 1, name: "qa-1" })).toBeVisible();
  await expect(page.getByText("Checkout fix").first()).toBeVisible();
  await expect(page.getByText("next please").first()).toBeVisible();
  await expect(page.getByRole("table", { name: "History" }).getByRole("row")).toHaveCount(3);
  await page.getByText("30 d").click();
  await expect(page).toHaveURL(/range=30/);
});

test("a session that was taken over says by whom and why", async ({ open, api }) => {
  const held = await pipeline.claim("developer", "qa-2", { context: "long run" });
  await api.send("secondDeveloper", "POST", `${pipeline.environment("qa-2")}/force-claim`, { context: "hotfix" });
  const page = await open("developer", `${path("qa-2")}/sessions/${held.sessionId}`);
  await expect(page.getByText("Taken over", { exact: true }).first()).toBeVisible();
  await expect(page.getByText(/Taken over by .*“hotfix”/).first()).toBeVisible();
});
