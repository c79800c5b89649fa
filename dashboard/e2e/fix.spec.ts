// A fix of a failure: proposed in the panel of the failed stage, verified in an environment, and opened as a draft.
import type { Page } from "@playwright/test";
import { randomUUID } from "node:crypto";
import { type Api, PIPELINE_PREFIX, type Session, TestPipeline } from "./support/api";
import { type Deployment, ended } from "./support/deploy";
import { expect, test } from "./support/fixtures";
import { GitServer } from "./support/gitServer";
import { expectAccessible, expectNoSidewaysScroll } from "./support/pages";
import { TestForge } from "./support/testForge";
import { TestRunner } from "./support/testRunner";

const REPOSITORY = "acme/shop";
const BRANCH = "fix-the-schema";
const newName = () => `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;

const definitionOf = (pool: string, fix: string) => `version: 1
runner: { pool: ${pool} }
${fix}
ephemeralEnvironments:
  qa-1: { stages: [deploy] }
  fix-1: { stages: [deploy], labels: [fixes] }
stages:
  deploy:
    steps:
      - name: migrate
        image: localhost/greenroom-test:1
        run: |
          test "$(cat schema)" = new && exit 0
          echo "error: schema of ${pool} expected, found none" >&2
          exit 3
`;
const FIX = "fix: { labels: [fixes] }";

const blockOf = (page: Page) => page.getByRole("region", { name: "deploy › migrate", exact: true });
const dialogOf = (page: Page) => page.getByRole("dialog", { name: "Propose a fix of deploy › migrate" });
const fixesOf = (page: Page) => blockOf(page).getByRole("region", { name: "Fixes" }).getByRole("listitem");

async function propose(page: Page, commit: string, branch: string): Promise<void> {
  if (!(await dialogOf(page).isVisible())) await blockOf(page).getByRole("button", { name: "Propose a fix" }).click();
  await dialogOf(page).getByLabel("Commit").fill(commit);
  await dialogOf(page).getByLabel("Branch").fill(branch);
  await dialogOf(page).getByRole("button", { name: "Propose the fix" }).click();
}

/** Deploys a commit that fails to `qa-1`, and waits for the evidence. */
async function fail(api: Api, pipeline: TestPipeline, body: { commitId: string; branch?: string }): Promise<string> {
  const { sessionId } = await pipeline.claim("developer", "qa-1");
  const deploy = `${pipeline.environment("qa-1")}/sessions/${sessionId}/deploy`;
  const { id } = await api.send<Deployment>("developer", "POST", deploy, body);
  expect((await ended(api, id)).status).toBe("failed");
  const evidence = () => api.get<{ status: string }>(`/deployments/${id}/evidence`);
  await expect.poll(async () => (await evidence()).status, { timeout: 30_000 }).toBe("ready");
  return id;
}

test("a fix is proposed, canceled, proposed again, and opened after red and green", async ({ open, stack, api }) => {
  test.setTimeout(240_000);
  const name = newName();
  const git = await GitServer.start();
  const forge = new TestForge(REPOSITORY);
  await forge.listen();
  const runner = await TestRunner.start(stack, api, name);
  try {
    const repository = git.repository(REPOSITORY);
    repository.write("schema", "old\n");
    const bad = repository.commit();
    repository.branch(BRANCH);
    repository.write("schema", "new\n");
    const good = repository.commit();
    forge.branches.set("main", bad).set(BRANCH, good);
    const definition = definitionOf(name, FIX);
    const record = { name: `Tests ${name}`, slug: name, definition, repository: repository.url };
    await api.send("owner", "POST", "/pipelines", record);
    const connected = { kind: "github", address: forge.address, repositories: [new URL(repository.url).host] };
    await api.send("admin", "POST", "/forges", { name, ...connected, credential: { token: "canary-of-a-forge" } });
    const pipeline = new TestPipeline(api, name);
    const id = await fail(api, pipeline, { commitId: bad, branch: "main" });
    const other: Session = await pipeline.claim("secondDeveloper", "fix-1");

    const page = await open("developer", `/o/${stack.org}/deployments/${id}`);
    await expect(page.getByRole("group", { name: "Was this helpful?" })).toHaveCount(0);
    await propose(page, "900d000", " ");
    await expect(dialogOf(page).getByText("Enter all 40 digits of the commit: 0–9 and a–f.")).toBeVisible();
    await expect(dialogOf(page).getByText("Enter the name of the branch.")).toBeVisible();
    await propose(page, bad, "a..b");
    await expect(dialogOf(page).getByText(/^This is the commit that fails/)).toBeVisible();
    await propose(page, good, "a..b");
    await expect(dialogOf(page).getByLabel("Branch")).toHaveAccessibleDescription(/must be the name of a branch/);
    await expectAccessible(page, "dialog propose a fix");
    await page.setViewportSize({ width: 360, height: 740 });
    await expectNoSidewaysScroll(page, "dialog propose a fix at 360 px");
    await page.setViewportSize({ width: 1440, height: 900 });
    await propose(page, good.toUpperCase(), BRANCH);
    const waiting = fixesOf(page).filter({ hasText: "Waiting" });
    await expect(waiting).toContainText("Waits for a free environment with the label fixes, until", {
      timeout: 15_000,
    });
    await expect(waiting).toContainText(`${good.slice(0, 7)} on ${BRANCH}`);
    await expectAccessible(page, "deployment with a fix");

    // There is one live fix of a failure. It is this one, so the link closes the dialog.
    await propose(page, good, BRANCH);
    await expect(dialogOf(page).getByRole("alert")).toContainText("Another fix is live");
    await dialogOf(page).getByRole("link", { name: "Show the live fix" }).click();
    await expect(dialogOf(page)).toHaveCount(0);

    // Others see it; only maintainers cancel it too. The page of the person who proposed it is not loaded again.
    const second = await open("secondDeveloper", `/o/${stack.org}/deployments/${id}`, { width: 390, theme: "dark" });
    const cancel = (on: Page) => fixesOf(on).getByRole("button", { name: /^Cancel/ });
    await expect(cancel(second)).toHaveAttribute("aria-disabled", "true");
    await expectNoSidewaysScroll(second, "deployment with a fix at 390 px");
    const maintainer = await open("maintainer", `/o/${stack.org}/deployments/${id}`);
    await cancel(maintainer).click();
    await maintainer.getByRole("button", { name: "Cancel the fix" }).click();
    await expect(fixesOf(page).filter({ hasText: "It was canceled." })).toHaveCount(1);
    await expect(cancel(page)).toHaveCount(0);

    await api.send("secondDeveloper", "DELETE", `${pipeline.environment("fix-1")}/sessions/${other.sessionId}`);
    await propose(page, good, BRANCH);
    const opened = fixesOf(page).filter({ hasText: "Pull request open" });
    await expect(opened).toHaveCount(1, { timeout: 120_000 });
    await expect(fixesOf(page).first()).toContainText("its draft is open");
    await expect(opened.getByText("Red", { exact: true })).toBeVisible();
    await expect(opened.getByText("Green", { exact: true })).toBeVisible();
    await expect(opened.getByRole("link", { name: "fix-1" })).toHaveAttribute("href", /\/environments\/fix-1$/);
    await expect(opened.getByRole("link", { name: "#1" })).toHaveAttribute("href", /\/acme\/shop\/pull\/1$/);
    await expect(cancel(page)).toHaveCount(0);
    expect(forge.opened).toMatchObject([{ head: BRANCH, base: "main", draft: true }]);
    await expectAccessible(page, "deployment with a fix that is open");

    const feedback = page.getByRole("group", { name: "Was this helpful?" });
    await feedback.getByRole("button", { name: "Yes" }).click();
    await expect(feedback.getByRole("button", { name: "Yes" })).toHaveAttribute("aria-pressed", "true");
    await feedback.getByRole("button", { name: "Add a comment" }).click();
    await page.getByLabel("Comment").fill("<b>It was the schema</b>");
    await page.getByRole("button", { name: "Send" }).click();
    await expect(page.getByText("<b>It was the schema</b>")).toBeVisible();

    await opened.getByRole("link", { name: `deployment of ${good.slice(0, 7)}` }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText(`${good.slice(0, 7)} to fix-1`);
  } finally {
    await runner.stop();
    await forge.close();
    await git.close();
  }
});

test("what a pipeline lacks for fixes is explained; viewers read who may propose one", async ({ open, stack, api }) => {
  test.setTimeout(120_000);
  const name = newName();
  const definition = definitionOf("default", "");
  await api.send("owner", "POST", "/pipelines", { name: `Tests ${name}`, slug: name, definition });
  const id = await fail(api, new TestPipeline(api, name), { commitId: "9f3c2a1e5512aa77ab0e21d20c4fa90f11b4b825" });
  const page = await open("developer", `/o/${stack.org}/deployments/${id}`);
  await propose(page, "900d00000000000000000000000000000000000a", BRANCH);
  await expect(dialogOf(page).getByRole("alert")).toContainText("No environment is named for fixes");
  const changed = { definition: definitionOf("default", FIX), repository: "https://git.example.test/acme/shop" };
  await api.send("owner", "PUT", `/pipelines/${name}`, changed);
  await dialogOf(page).getByRole("button", { name: "Propose the fix" }).click();
  await expect(dialogOf(page).getByRole("alert")).toContainText("No forge serves the repository");
  await expect(dialogOf(page).getByRole("link", { name: "Show the forges" })).toBeVisible();
  await page.keyboard.press("Escape");
  // The analysis that was requested for it is there.
  const question = page.getByRole("group", { name: "Was this helpful?" });
  await expect(question.getByRole("button", { name: "No", exact: true })).toBeVisible();

  const viewer = await open("viewer", `/o/${stack.org}/deployments/${id}`);
  const button = blockOf(viewer).getByRole("button", { name: "Propose a fix" });
  await expect(button).toHaveAttribute("aria-disabled", "true");
  await expect(button).toHaveAttribute("title", "Developers propose fixes; you are a viewer");
  // Playwright does not click a disabled button by itself.
  await button.click({ force: true });
  await expect(dialogOf(viewer)).toHaveCount(0);
});
