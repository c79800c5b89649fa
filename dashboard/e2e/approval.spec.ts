// Approvals: in place on the deployment's page, in the inbox, and overridden by an admin.
import type { Page } from "@playwright/test";
import { Api, createGroup, createReleasePipeline, type TestPipeline } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { expectAccessible, expectNoSidewaysScroll } from "./support/pages";
import { stackOf } from "./support/stack";

const COMMIT = "3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f";
const LONG = { timeout: 30_000 };

type Waiting = { kind: string; approvalId?: string };
type Deployment = { id: string; status: string; waitingOn: Waiting[] };

let api: Api;
let pipeline: TestPipeline;
let group: string;

/** Starts a deployment as the developer, and returns it with the approval that it waits for. */
async function start(at: TestPipeline): Promise<{ id: string; approval: string }> {
  const { id } = await api.send<Deployment>("developer", "POST", `/pipelines/${at.slug}/deployments`, {
    commitId: COMMIT,
  });
  const read = async () => {
    const { waitingOn } = await api.get<Deployment>(`/deployments/${id}`);
    return waitingOn.find(({ kind }) => kind === "approval")?.approvalId;
  };
  await expect.poll(read, { ...LONG, intervals: [250] }).toMatch(/^apr_/);
  return { id, approval: (await read()) ?? "" };
}

const panelOf = (page: Page) => page.getByRole("region", { name: "release needs an approval" });

test.beforeAll(async () => {
  api = new Api(stackOf());
  group = (await createGroup(api, ["maintainer", "developer"])).name;
  pipeline = await createReleasePipeline(api, [group]);
});

test("a phone shows what exactly runs, and approves on the second tap", async ({ open, stack }) => {
  test.setTimeout(60_000);
  const { id } = await start(pipeline);
  const path = `/o/${stack.org}/deployments/${id}`;
  const developer = await open("developer", path);
  await expect(panelOf(developer).getByText("You started it; somebody else decides.").first()).toBeVisible();
  const own = panelOf(developer).getByRole("button", { name: /^Approve/ });
  await expect(own).toHaveAttribute("aria-disabled", "true");

  const page = await open("maintainer", path, { width: 390, height: 844 });
  const panel = panelOf(page);
  for (const text of [COMMIT, "roll-out", "localhost/greenroom-test:1", "may change", "Is the change announced?"])
    await expect(panel.getByText(text).first()).toBeVisible();
  await expect(panel.getByText(`1 of ${group}`)).toBeVisible();
  await expect(panel.getByText("0 of 1", { exact: true })).toBeVisible();
  await expectAccessible(page, "deployment that waits for an approval");
  await expectNoSidewaysScroll(page, "approval at 390 px");
  const approve = panel.getByRole("button", { name: /approve/i }).first();
  const [box, outer] = [await approve.boundingBox(), await panel.boundingBox()];
  expect(box?.width).toBeGreaterThan((outer?.width ?? 0) - 40);
  expect(box?.height).toBeGreaterThanOrEqual(44);
  await approve.tap();
  await expect(panel.getByRole("button", { name: `Press again: approve ${COMMIT.slice(0, 7)}` })).toBeVisible();
  expect((await api.get<Deployment>(`/deployments/${id}`)).waitingOn[0]?.kind).toBe("approval");
  // A double tap is one tap.
  await page.waitForTimeout(450);
  await approve.tap();
  await expect(page.getByText("Your approval is counted")).toBeVisible();
  await expect(developer.getByText("Succeeded", { exact: true }).first()).toBeVisible(LONG);
});

test("the inbox counts what waits, and a rejection needs a reason", async ({ open, stack }) => {
  test.setTimeout(60_000);
  const page = await open("maintainer", `/o/${stack.org}`);
  await settled(page);
  const { id, approval } = await start(pipeline);
  // By the event, without a reload.
  const need = page.getByRole("link", { name: new RegExp(`^Approve ${COMMIT.slice(0, 7)} for production`) });
  await expect(need.first()).toBeVisible();
  await page
    .getByRole("link", { name: /^Approvals/ })
    .first()
    .click();
  await expect(page.getByRole("link", { name: /^Approvals\s*\d/ })).toBeVisible();
  const row = page.getByRole("row").filter({ hasText: pipeline.slug });
  await expect(row).toContainText("0 of 1");
  await row.getByRole("link").first().click();
  await expect(page).toHaveURL(new RegExp(`/approvals/${approval}$`));
  await page.getByRole("button", { name: "Reject" }).click();
  const dialog = page.getByRole("dialog", { name: "Reject release?" });
  await dialog.getByRole("button", { name: "Reject" }).click();
  await expect(dialog.getByText("Give a reason: whoever started it reads it.")).toBeVisible();
  await expectAccessible(page, "dialog reject");
  await dialog.getByLabel("Reason").fill("the migration is missing");
  await dialog.getByRole("button", { name: "Reject" }).click();
  await expect(page.getByText("“the migration is missing”")).toBeVisible();
  await expect(page.getByText("Rejected", { exact: true }).first()).toBeVisible();
  const status = async () => (await api.get<Deployment>(`/deployments/${id}`)).status;
  await expect.poll(status, LONG).toBe("failed");
  await page.goto(`/o/${stack.org}/approvals`);
  await settled(page);
  await expect(page.getByRole("row").filter({ hasText: pipeline.slug })).toHaveCount(0);
});

test("nobody can meet the rules: it is said, and an admin overrides with a reason", async ({ open, stack }) => {
  test.setTimeout(60_000);
  const empty = await createGroup(api, ["developer"]);
  const { id } = await start(await createReleasePipeline(api, [empty.name]));
  const path = `/o/${stack.org}/deployments/${id}`;
  const viewer = await open("viewer", path);
  await expect(panelOf(viewer).getByText(/^These rules can't be met/)).toBeVisible();
  await expect(panelOf(viewer).getByRole("button", { name: "Override" })).toHaveCount(0);
  const admin = await open("admin", path);
  await panelOf(admin).getByRole("button", { name: "Override" }).click();
  const sheet = admin.getByRole("dialog", { name: "Override the gates of release?" });
  await sheet.getByRole("button", { name: "Override" }).click();
  await expect(sheet.getByText("Give a reason: it is shown for ever.")).toBeVisible();
  await expectAccessible(admin, "sheet override");
  await sheet.getByLabel("Reason").fill("the shop is down");
  await sheet.getByRole("button", { name: "Override" }).click();
  await expect(viewer.getByText(/overrode the approval/)).toBeVisible(LONG);
  await expect(viewer.getByText("“the shop is down”").first()).toBeVisible();
  await expect(viewer.getByText("Succeeded", { exact: true }).first()).toBeVisible(LONG);
  await expect(viewer.getByText("“the shop is down”").first()).toBeVisible();
});
