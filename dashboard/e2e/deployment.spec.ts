// Deploy by hand, follow the log, find a line, link to it; a deployment that fails leads to its error.
import { Api, createPipeline, environmentsOf, type TestPipeline } from "./support/api";
import { deploy } from "./support/deploy";
import { expect, settled, test } from "./support/fixtures";
import { stackOf } from "./support/stack";
import { elapsedSince, now } from "./support/stalls";

const LINES = 100_000;
/** What a hostile program prints. Nothing of it may become markup, move the page or leave the log. */
const HOSTILE = String.raw`printf '<img src=x onerror=alert(1)>\n<script>alert(1)</script>\n\033]8;;javascript:alert(1)\007link\033]8;;\007\n\033[2J\033[31mred\033[0m \342\200\256evil\n'`;

let pipeline: TestPipeline;
let broken: TestPipeline;

test.beforeAll(async () => {
  const api = new Api(stackOf());
  pipeline = await createPipeline(
    api,
    environmentsOf(["qa-1"]),
    `${HOSTILE}\nseq -f "line %.0f of the log" 1 ${LINES}`,
  );
  broken = await createPipeline(api, environmentsOf(["qa-1"]), 'echo "error: migration 0042 failed" >&2\nexit 3');
});

test("a log of 100,000 lines opens, jumps, finds and links", async ({ open, stack, api }) => {
  test.setTimeout(180_000);
  const { id, status } = await deploy(api, pipeline, "qa-1");
  expect(status).toBe("succeeded");
  const page = await open("developer", `/o/${stack.org}/deployments/${id}?stage=deploy`);
  const started = now();
  const log = page.getByRole("log");
  await expect(log.locator("[data-line]").first()).toBeVisible();
  const opened = Math.round(elapsedSince(started));
  await expect(log.getByText("<script>alert(1)</script>")).toBeVisible();
  expect(await log.locator("img, script, a").count()).toBe(0);
  // Never more rows in the document than the window needs.
  expect(await log.locator("[data-line]").count()).toBeLessThanOrEqual(200);
  const jump = now();
  // On a busy machine, not all lines may be loaded when the first scroll begins.
  await expect(async () => {
    await log.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await expect(log.getByText(`line ${LINES} of the log`)).toBeVisible({ timeout: 1_000 });
  }).toPass();
  const jumped = Math.round(elapsedSince(jump));
  const find = now();
  await page.getByLabel(/Find in the log/).fill("line 77777 of");
  await page.keyboard.press("Enter");
  await expect(log.getByText("line 77777 of the log")).toBeVisible();
  const found = Math.round(elapsedSince(find));
  await log.getByText("line 77777 of the log").locator("xpath=../..").getByRole("button").click();
  await expect(page).toHaveURL(/#L\d+$/);
  await page.reload();
  await expect(log.getByText("line 77777 of the log")).toBeVisible();
  test.info().annotations.push({ type: "figures", description: JSON.stringify({ opened, jumped, found }) });
});

test("a deployment that failed opens on its error", async ({ open, stack, api }) => {
  test.setTimeout(150_000);
  const { id, status } = await deploy(api, broken, "qa-1");
  expect(status).toBe("failed");
  const page = await open("developer", `/o/${stack.org}/deployments/${id}`);
  await settled(page);
  await expect(page.getByText("Failed", { exact: true }).first()).toBeVisible();
  await expect(page.getByRole("region", { name: "deploy › roll-out", exact: true })).toContainText("exit 3");
  await expect(page.getByRole("log").getByText("error: migration 0042 failed")).toBeVisible();
  await expect(page.getByRole("button", { name: /Retry/ })).toBeVisible();
});

test("the list of deployments filters by status in its address", async ({ open, stack }) => {
  const page = await open("developer", `/o/${stack.org}/deployments`);
  await settled(page);
  await page.getByLabel("Status").selectOption("failed");
  await expect(page).toHaveURL(/status=failed/);
  await expect(page.getByRole("row").nth(1)).toContainText("Failed");
});
