// Home, members, runners, and every role on every page.
import { createPipeline, environmentsOf } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { screensOf } from "./support/screens";
import { PEOPLE } from "./support/stack";

test("home shows what is mine and what happened lately", async ({ open, stack }) => {
  const page = await open("developer", `/o/${stack.org}`);
  await settled(page);
  for (const name of ["Needs you", "Yours", "Lately"]) {
    await expect(page.getByRole("heading", { name })).toBeVisible();
  }
});

test("home shows after a reload that my environment was taken over, until it is marked as read", async ({
  open,
  stack,
  api,
}) => {
  const pipeline = await createPipeline(api, environmentsOf(["qa-1"]));
  await pipeline.claim("developer", "qa-1");
  const page = await open("developer", `/o/${stack.org}`);
  await settled(page);
  await api.send("secondDeveloper", "POST", `${pipeline.environment("qa-1")}/force-claim`, {
    context: "the shop is down",
  });
  const notice = page.getByRole("main").getByRole("listitem").filter({ hasText: pipeline.slug });
  // Without a reload, and again after it.
  await expect(notice).toContainText("took over qa-1: “the shop is down”");
  await page.reload();
  await expect(notice).toContainText("took over qa-1: “the shop is down”");
  await expect(notice.getByRole("link", { name: "Claim again: qa-1" })).toHaveAttribute(
    "href",
    new RegExp(`${pipeline.slug}/environments/qa-1$`),
  );
  await page.getByRole("button", { name: "Mark as read" }).click();
  await expect(notice).toHaveCount(0);
  await page.reload();
  await settled(page);
  await expect(notice).toHaveCount(0);
});

test("the first address leads to the organization", async ({ open, stack }) => {
  const page = await open("developer", "/");
  await expect(page).toHaveURL(`${stack.dashboard}/o/${stack.org}`);
});

test("members are listed with their roles", async ({ open, stack }) => {
  const page = await open("admin", `/o/${stack.org}/settings/members`);
  await expect(page.getByRole("row").filter({ hasText: "owner" }).first()).toBeVisible();
});

test("runners are for admins; others read why", async ({ open, stack }) => {
  const admin = await open("admin", `/o/${stack.org}/runners`);
  await expect(admin.getByRole("heading", { name: "Pools" })).toBeVisible();
  const developer = await open("developer", `/o/${stack.org}/runners`);
  await expect(developer.getByRole("alert").first()).toContainText(/Not allowed|admin/);
});

test("one person of each role opens a page without a failure", async ({ open, stack, api }) => {
  const everything = process.env.GREENROOM_ALL_ROLES === "1";
  test.setTimeout(everything ? 900_000 : 120_000);
  const screens = await screensOf(stack, api);
  for (const [index, person] of PEOPLE.entries()) {
    // In CI one page per role; all of them by command.
    const own = screens.filter(({ person: needed }) => needed !== undefined);
    const chosen = everything ? own : own.slice(index, index + 1);
    const page = await open(person, "/");
    for (const { path } of chosen) {
      await page.goto(path);
      await settled(page);
      await expect(page.getByText("This page failed")).toHaveCount(0);
    }
    await page.context().close();
  }
});
