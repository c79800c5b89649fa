// Organization Settings > Groups and Service accounts, and the grants of a pipeline.
import { randomUUID } from "node:crypto";
import { createGroup, createPipeline, environmentsOf, PIPELINE_PREFIX } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { expectAccessible, expectNoSidewaysScroll } from "./support/pages";
import { within } from "./support/stalls";

const newName = () => `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;

test("a group is created, gets a member and loses it, and is deleted", async ({ open, stack, api }) => {
  test.setTimeout(60_000);
  const name = newName();
  const { name: person } = await api.get<{ name: string }>("/me", "developer");
  const page = await open("admin", `/o/${stack.org}/settings/groups`);
  await page.getByRole("button", { name: "New group" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Release Managers");
  await dialog.getByRole("button", { name: "New group" }).click();
  await expect(dialog.getByText(/^It begins with a small letter/)).toBeVisible();
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByRole("button", { name: "New group" }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  await page.getByRole("button", { name: "Add a member" }).first().click();
  await dialog.getByLabel("Member of the organization").selectOption({ label: person });
  await expectAccessible(page, "dialog add to group");
  await dialog.getByRole("button", { name: "Add a member" }).click();
  const row = page.getByRole("row").filter({ hasText: person });
  await expect(row).toBeVisible();
  await expectNoSidewaysScroll(page, "group");
  await row.getByRole("button", { name: `Remove ${person}` }).click();
  await expect(dialog.getByText("No session ends.")).toBeVisible();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
  const developer = await open("developer", page.url());
  await expect(developer.getByRole("button", { name: /^Delete/ })).toHaveAttribute("aria-disabled", "true");
  await page.getByRole("button", { name: "Delete" }).click();
  await expect(dialog.getByText("No session ends.")).toBeVisible();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(/\/settings\/groups$/);
  await settled(page);
  await expect(page.getByRole("row").filter({ hasText: name })).toHaveCount(0);
});

test("a grant lets a viewer claim; its end is shown before it is made", async ({ open, stack, api }) => {
  test.setTimeout(60_000);
  const group = await createGroup(api, ["viewer"]);
  const pipeline = await createPipeline(api, environmentsOf(["qa-1"]));
  const page = await open("admin", `/o/${stack.org}/pipelines/${pipeline.slug}`);
  await page.getByRole("link", { name: "Settings", exact: true }).click();
  await page.getByRole("button", { name: "New grant" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Group or user").selectOption({ label: group.name });
  await expectAccessible(page, "dialog new grant");
  await dialog.getByRole("button", { name: "New grant" }).click();
  const row = page.getByRole("row").filter({ hasText: group.name });
  await expect(row).toContainText("Developer");
  await pipeline.claim("viewer", "qa-1");
  await row.getByRole("button", { name: /^Delete/ }).click();
  await expect(dialog.getByText("1 session ends:")).toBeVisible();
  await expect(dialog.getByText("qa-1")).toBeVisible();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(row).toHaveCount(0);
  await expect
    .poll(async () => (await api.get<{ lock: { status: string } }>(pipeline.environment("qa-1"))).lock.status)
    .toBe("free");
});

test("a service account gets a token that works, and is deleted", async ({ open, stack, api }) => {
  test.setTimeout(60_000);
  const name = newName();
  const pipeline = await createPipeline(api, environmentsOf(["qa-1"]));
  const page = await open("admin", `/o/${stack.org}/settings/service-accounts`);
  await page.getByRole("button", { name: "New service account" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByRole("button", { name: "New service account" }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();

  await page.getByRole("button", { name: "New token" }).click();
  await dialog.getByLabel("Name").fill("main");
  await dialog.getByLabel("Sessions at a time").fill("0");
  await dialog.getByRole("button", { name: "New token" }).click();
  await expect(dialog.getByText("A whole number from 1 to 1,000, or nothing.")).toBeVisible();
  await dialog.getByLabel("Sessions at a time").fill("1");
  await expectAccessible(page, "dialog new token of a service account");
  await dialog.getByRole("button", { name: "New token" }).click();
  const secret = (await page.getByLabel("Your new token").last().textContent())?.trim() ?? "";
  expect(secret).toMatch(/^grn_/);
  await page.getByRole("button", { name: "Done" }).click();
  const at = `${stack.api}/organizations/${stack.org}`;
  const claim = await fetch(`${at}${pipeline.environment("qa-1")}/sessions`, {
    method: "POST",
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json", "Idempotency-Key": randomUUID() },
    body: "{}",
  });
  expect(claim.status).toBe(201);

  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(dialog.getByText("1 session ends:")).toBeVisible();
  await expectAccessible(page, "dialog delete a service account");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(/\/settings\/service-accounts$/);
  const me = () => fetch(`${at}/me`, { headers: { Authorization: `Bearer ${secret}` } });
  await within(3_000, (options) => expect.poll(async () => (await me()).status, options).toBe(401));
});
