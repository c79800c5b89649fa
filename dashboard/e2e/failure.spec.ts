// A deployment that fails shows why without a reload: the line, whose failure it is, what to do. Failures are listed, and
// share a note.
import { randomUUID } from "node:crypto";
import { type Api, createPipeline, environmentsOf, PIPELINE_PREFIX, TestPipeline } from "./support/api";
import { COMMIT, type Deployment, ended } from "./support/deploy";
import { expect, settled, test } from "./support/fixtures";
import { expectAccessible, expectNoSidewaysScroll } from "./support/pages";

const GOOD_COMMIT = "1111111e5512aa77ab0e21d20c4fa90f11b4b825";
/** Letters alone, because numbers are masked. Equal lines in other pipelines would change the verdict. */
const WORD = Array.from(randomUUID().replaceAll("-", ""), (digit) => "ghijklmnopqrstuv"[parseInt(digit, 16)]).join("");
const LINE = `error: schema ${WORD} expected, found none`;
/** Succeeds with one commit only, and prints 60 lines that no good run has. */
const SCRIPT = `echo "migrating"
test "$GREENROOM_COMMIT_ID" = ${GOOD_COMMIT} && exit 0
seq -f "retrying statement %.0f" 1 30
for word in ash birch cedar elm fir hazel larch maple oak pine rowan willow; do echo "no table $word"; done
echo "${LINE}" >&2
exit 3`;

async function newest(api: Api, at: TestPipeline, env: string, session: string): Promise<Deployment> {
  const { deployments } = await api.get<{ deployments: Deployment[] }>(`${at.environment(env)}/sessions/${session}`);
  return deployments[0] as Deployment;
}

test("a failure is explained where it happens, listed, and has a note", async ({ open, stack, api }) => {
  test.setTimeout(240_000);
  const pipeline = await createPipeline(api, environmentsOf(["qa-1"]), SCRIPT);
  const { sessionId } = await pipeline.claim("developer", "qa-1", { commitId: GOOD_COMMIT });
  const good = await ended(api, (await newest(api, pipeline, "qa-1", sessionId)).id);
  expect(good.status).toBe("succeeded");
  const deploy = `${pipeline.environment("qa-1")}/sessions/${sessionId}/deploy`;
  const { id } = await api.send<Deployment>("developer", "POST", deploy, { commitId: COMMIT });
  const page = await open("developer", `/o/${stack.org}/deployments/${id}`);
  // The page was opened before the failure, and is not loaded again.
  const block = page.getByRole("region", { name: "deploy › roll-out", exact: true });
  await expect(block).toContainText("exit 3", { timeout: 90_000 });
  await expect(block.getByText("Yours")).toBeVisible({ timeout: 15_000 });
  await expect(block.getByText(/with 1111111 in qa-1; nobody else fails like this/)).toBeVisible();
  await expect(block.getByText("commit 1111111 → 9f3c2a1")).toBeVisible();
  await expect(block.getByText(/lines are new against 1 good run/)).toBeVisible();
  await expect(block.getByText("for the first time")).toBeVisible();

  const lines = block.getByRole("region", { name: /Lines of the log/ });
  await expect(lines.locator("[data-decisive]")).toContainText(LINE);
  const first = await lines.locator("a").count();
  expect(first).toBeLessThanOrEqual(10);
  await block.getByRole("button", { name: "Show 40 lines" }).click();
  await expect.poll(() => lines.locator("a").count()).toBeGreaterThan(first);

  const number = await lines.locator("[data-decisive] a").textContent();
  await lines.locator("[data-decisive] a").click();
  await expect(page).toHaveURL(new RegExp(`#L${number}$`));
  const marked = page.getByRole("log").locator(`[data-line="${number}"]`);
  await expect(marked).toContainText(LINE);
  await expect(marked).toBeInViewport();

  await block.getByRole("button", { name: "Write a note" }).click();
  await block.getByLabel("Note about failures like this one").fill("Migrate before the seed.\n<b>Then retry.</b>");
  await block.getByRole("button", { name: "Save" }).click();
  await expect(block.getByText("<b>Then retry.</b>")).toBeVisible();
  await expectAccessible(page, "deployment with a failure");

  // Others read the same, but it is not theirs.
  const other = await open("viewer", `/o/${stack.org}/deployments/${id}`, { width: 390, theme: "dark" });
  const seen = other.getByRole("region", { name: "deploy › roll-out", exact: true });
  await expect(seen.getByText("This change")).toBeVisible();
  await expect(seen.getByText("Migrate before the seed.")).toBeVisible();
  await expect(seen.getByRole("button", { name: /Change the note/ })).toHaveAttribute("aria-disabled", "true");
  await expectNoSidewaysScroll(other, "deployment with a failure at 390 px");

  await page.goto(`/o/${stack.org}/failures?pipeline=${pipeline.slug}`);
  await settled(page);
  await page.getByLabel("Whose").selectOption("flaky");
  await expect(page).toHaveURL(/verdict=flaky/);
  await expect(page.getByText("No failure matches.")).toBeVisible();
  await page.getByLabel("Whose").selectOption("yours");
  await page.getByLabel("Since").selectOption("24h");
  await page.getByRole("link", { name: LINE }).click();
  await expect(page).toHaveURL(/\/failures\/fp_/);
  await expect(page.getByRole("heading", { name: "deploy › roll-out" })).toBeVisible();
  await expect(page.getByText("not yet: no good run since")).toBeVisible();
  await page.getByRole("button", { name: "Change the note" }).click();
  await page.getByLabel("Note about failures like this one").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("button", { name: "Write a note" })).toBeVisible();
});

test("three failures at once each have a block, and an agent gets all of them", async ({ open, stack, api }) => {
  test.setTimeout(180_000);
  const pipeline = await createFailing(api, ["lint", "unit", "scan"]);
  const { sessionId } = await pipeline.claim("developer", "qa-1", { commitId: COMMIT });
  const { id } = await ended(api, (await newest(api, pipeline, "qa-1", sessionId)).id);
  const page = await open("developer", `/o/${stack.org}/deployments/${id}`);
  for (const stage of ["lint", "unit", "scan"]) {
    const block = page.getByRole("region", { name: `${stage} › check`, exact: true });
    await expect(block.getByText(`error: ${stage} failed`).first()).toBeVisible({ timeout: 15_000 });
    await expect(block.getByText("there is no good run to compare with")).toBeVisible();
    await expect(block.getByRole("button", { name: `Retry ${stage}` })).toBeVisible();
  }
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy for an agent" }).click();
  await expect(page.getByText("The evidence was copied")).toBeVisible();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain("3 stages have failed");
  expect(copied).toContain("error: unit failed");

  // Without https there is no clipboard.
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await page.getByRole("button", { name: "Copy for an agent" }).click();
  await expect(page.getByRole("region", { name: "Evidence for an agent" })).toContainText("3 stages have failed");
});

test("evidence that was deleted with the log leads to what is remembered", async ({ open, stack, api }) => {
  const failed = (await api.get<Deployment[]>("/deployments?status=failed&limit=1"))[0];
  test.skip(!failed, "the demo has no failed deployment");
  const page = await open("developer", "/me");
  // Logs are kept 90 days, so this is the server's answer after that time.
  await page.route(/\/evidence(\?|$)/, (route) =>
    route.fulfill({
      status: 410,
      contentType: "application/problem+json",
      json: { status: 410, code: "evidence_expired", title: "Evidence expired", fingerprints: ["fp_1"] },
    }),
  );
  await page.goto(`/o/${stack.org}/deployments/${failed?.id}`);
  await expect(page.getByRole("heading", { name: "The log is gone" })).toBeVisible();
  await expect(page.getByRole("link", { name: "All failures like it" })).toHaveAttribute("href", /\/failures\/fp_1$/);
  await expect(page.getByText(/: exit \d/)).toBeVisible();
});

/** A pipeline whose stages all fail, at the same time. */
async function createFailing(api: Api, stages: readonly string[]): Promise<TestPipeline> {
  const slug = `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;
  const definition = `version: 1
runner:
  pool: default
ephemeralEnvironments:
  qa-1:
    stages: [${stages.join(", ")}]
stages:
${stages
  .map(
    (stage) => `  ${stage}:
    steps:
      - name: check
        image: localhost/greenroom-test:1
        run: |
          echo "error: ${stage} failed" >&2
          exit 1
`,
  )
  .join("")}`;
  await api.send("owner", "POST", "/pipelines", { name: `Tests ${slug}`, slug, definition });
  return new TestPipeline(api, slug);
}
