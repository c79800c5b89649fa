// Lasting environments: what is live where, holds and who may end them, rollbacks, freezes.
import type { Page } from "@playwright/test";
import { randomUUID } from "node:crypto";
import { Api, createReleasePipeline, PIPELINE_PREFIX, type TestPipeline } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { expectAccessible, expectNoSidewaysScroll } from "./support/pages";
import { type Person, stackOf } from "./support/stack";

const FIRST = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d";
const SECOND = "2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e";
const HOUR = 3_600_000;
const LONG = { timeout: 30_000 };

type Deployment = { id: string; status: string };

let api: Api;
let pipeline: TestPipeline;

const environment = () => `/pipelines/${pipeline.slug}/environments/production`;
const pathOf = () => `/o/${stackOf().org}/pipelines/${pipeline.slug}/lasting/production`;

function start(person: Person, commitId: string): Promise<Deployment> {
  return api.send<Deployment>(person, "POST", `/pipelines/${pipeline.slug}/deployments`, { commitId });
}

async function release(commitId: string): Promise<void> {
  const { id } = await start("developer", commitId);
  const status = async () => (await api.get<Deployment>(`/deployments/${id}`)).status;
  await expect.poll(status, { ...LONG, intervals: [500] }).toBe("succeeded");
}

test.beforeAll(async () => {
  test.setTimeout(90_000);
  api = new Api(stackOf());
  pipeline = await createReleasePipeline(api);
  await release(FIRST);
  await release(SECOND);
});

test("the table shows what is live, and where a commit is", async ({ open, stack }) => {
  const page = await open("viewer", `/o/${stack.org}`);
  await page.getByRole("link", { name: "Lasting environments" }).click();
  await page.getByLabel("Pipeline").selectOption(pipeline.slug);
  const row = page.getByRole("row").filter({ hasText: pipeline.slug });
  await expect(row).toContainText("Live");
  await expect(row.getByRole("link", { name: SECOND.slice(0, 7) })).toBeVisible();
  await expect(page.getByRole("columnheader", { name: "production" })).toBeVisible();
  const commit = page.getByLabel("Where is this commit?");
  await commit.fill("not-a-commit");
  await expect(page.getByText("A commit begins with 7 hexadecimal digits or more.")).toBeVisible();
  await commit.fill(FIRST.slice(0, 9));
  await expect(page.getByText(`${FIRST.slice(0, 7)} is live nowhere.`)).toBeVisible();
  await page.getByRole("button", { name: "Show all" }).click();
  await commit.fill(SECOND);
  await expect(page).toHaveURL(new RegExp(`commit=${SECOND}`));
  await row.getByRole("link", { name: /production/ }).click();
  await expect(page.getByRole("heading", { level: 1, name: "production" })).toBeVisible();
  await expect(page.getByRole("button", { name: /^Hold/ })).toHaveAttribute("aria-disabled", "true");
});

/** A toast is a dialog too, so that each one is named. */
const dialogOf = (page: Page, name: string | RegExp) => page.getByRole("dialog", { name });

async function fillHold(page: Page, reason: string, action: string): Promise<void> {
  const dialog = dialogOf(page, new RegExp(`^${action}.*production`));
  await dialog.getByRole("button", { name: action, exact: true }).click();
  await expect(dialog.getByText("Give a reason: others read it.")).toBeVisible();
  await dialog.getByLabel("Reason").fill(reason);
  await dialog.getByRole("button", { name: action, exact: true }).click();
  await expect(dialog).toBeHidden();
}

test("a hold is seen by all, taken over by an admin, and ended", async ({ open, stack }) => {
  test.setTimeout(60_000);
  const other = await open("developer", pathOf());
  await expect(other.getByText("Live", { exact: true }).first()).toBeVisible();
  const maintainer = await open("maintainer", pathOf());
  await maintainer.getByRole("button", { name: "Hold", exact: true }).click();
  await fillHold(maintainer, "checkout is down", "Hold");
  await expect(maintainer.getByText("Only your deployments begin here.")).toBeVisible();
  // Without a reload, by the event.
  await expect(other.getByText("“checkout is down”")).toBeVisible();
  await expect(other.getByText("Held", { exact: true })).toBeVisible();

  const { id } = await start("developer", SECOND);
  await other.goto(`/o/${stack.org}/deployments/${id}`);
  await expect(other.getByText(/holds production until .*: “checkout is down”\./)).toBeVisible();
  await expectAccessible(other, "deployment that waits for a hold");

  const admin = await open("admin", pathOf());
  await admin.getByRole("button", { name: "Take over" }).click();
  await expect(dialogOf(admin, /^Take over/)).toContainText("“checkout is down”");
  await expectAccessible(admin, "dialog take over");
  await fillHold(admin, "the database too", "Take over");
  await expect(other.getByText(/: “the database too”\./)).toBeVisible(LONG);
  const theirs = maintainer.getByRole("button", { name: /^End the hold/ });
  await expect(theirs).toHaveAttribute("aria-disabled", "true");
  await admin.getByRole("button", { name: "End the hold" }).click();
  await dialogOf(admin, /^End the hold/)
    .getByRole("button", { name: "End the hold" })
    .click();
  await expect(admin.getByRole("button", { name: "Hold", exact: true })).toBeVisible();
  await expect(other.getByText("Succeeded", { exact: true }).first()).toBeVisible(LONG);
});

test("a maintainer rolls back to an earlier deployment", async ({ open, stack }) => {
  test.setTimeout(60_000);
  const developer = await open("developer", pathOf());
  const history = (page: Page) => page.getByRole("table", { name: "History" });
  const button = (page: Page) => history(page).getByRole("button", { name: `Roll back ${FIRST.slice(0, 7)}` });
  await expect(button(developer)).toHaveAttribute("title", "Maintainers roll back");
  const page = await open("maintainer", pathOf());
  await button(page).click();
  const dialog = dialogOf(page, `Roll back production to ${FIRST.slice(0, 7)}?`);
  await expect(dialog.getByText("release, in production")).toBeVisible();
  await expectAccessible(page, "dialog roll back");
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await expect(page).toHaveURL(new RegExp(`/o/${stack.org}/deployments/`));
  await expect(page.getByText("Rollback", { exact: true })).toBeVisible();
  // The developer's page follows by events.
  const live = developer.getByRole("region", { name: "Live" });
  await expect(live.getByRole("link", { name: FIRST.slice(0, 7) })).toBeVisible(LONG);
  await expect(live.getByText("Rollback", { exact: true })).toBeVisible();
  await expect(history(developer).getByRole("row").nth(1)).toContainText("Live");
});

test("an admin creates, changes and ends freezes; others read them", async ({ open, stack }) => {
  test.setTimeout(60_000);
  const path = `/o/${stack.org}/settings/freezes`;
  const name = `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;
  const admin = await open("admin", path);
  await settled(admin);
  await admin.getByRole("button", { name: "New freeze" }).first().click();
  const dialog = dialogOf(admin, "New freeze");
  await dialog.getByRole("button", { name: "New freeze" }).click();
  for (const text of ["Name it.", "Choose when it begins."]) await expect(dialog.getByText(text)).toBeVisible();
  await dialog.getByText("Every week").click();
  await expectAccessible(admin, "dialog new freeze");
  await admin.setViewportSize({ width: 360, height: 740 });
  await expectNoSidewaysScroll(admin, "dialog new freeze at 360 px");
  await admin.setViewportSize({ width: 1440, height: 900 });
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByLabel("Reason").fill("out of office");
  await dialog.getByLabel("Window 1: from").fill("17:30");
  await dialog.getByLabel("Time zone").selectOption("Europe/Berlin");
  await dialog.getByLabel(`Tests ${pipeline.slug}`).check();
  await dialog.getByRole("button", { name: "New freeze" }).click();
  const row = (page: Page) => page.getByRole("row").filter({ hasText: name });
  await expect(row(admin)).toContainText("Friday 17:30 to Monday 08:00, Europe/Berlin");

  // From now on, once: the environment's page and the deployment's show it.
  const viewer = await open("viewer", pathOf());
  await row(admin)
    .getByRole("button", { name: /^Change/ })
    .click();
  const change = dialogOf(admin, `Change ${name}`);
  await change.getByText("Once").click();
  const local = (time: number) => new Date(time).toISOString().slice(0, 16);
  await change.getByLabel("From").fill(local(Date.now() - HOUR));
  await change.getByLabel("To", { exact: true }).fill(local(Date.now() + HOUR));
  await change.getByRole("button", { name: "Save" }).click();
  await expect(row(admin)).toContainText("Frozen");
  await expect(viewer.getByText(/^Frozen until/)).toBeVisible();
  await expect(viewer.getByText("Frozen", { exact: true })).toBeVisible();
  const { id } = await start("developer", SECOND);
  await viewer.goto(`/o/${stack.org}/deployments/${id}`);
  await expect(viewer.getByText(new RegExp(`Frozen until .*: “${name}”`))).toBeVisible();
  await expectAccessible(admin, "freezes");
  await viewer.goto(path);
  await expect(row(viewer).getByRole("button", { name: /^End/ })).toHaveAttribute("aria-disabled", "true");
  await row(admin).getByRole("button", { name: /^End/ }).click();
  const end = dialogOf(admin, `End ${name}?`);
  await expect(end).toContainText("deployments that wait for it continue");
  await end.getByRole("button", { name: "End" }).click();
  await expect(row(admin)).toHaveCount(0);
  await expect(row(viewer)).toHaveCount(0);
  await viewer.goto(`/o/${stack.org}/deployments/${id}`);
  await expect(viewer.getByText("Succeeded", { exact: true }).first()).toBeVisible(LONG);
  expect((await api.get<{ live: { commitId: string } }>(environment())).live.commitId).toBe(SECOND);
});
