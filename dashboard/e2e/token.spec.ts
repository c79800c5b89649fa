// Organization Settings > API Tokens: create, see the secret once, use it, revoke it.
import { randomUUID } from "node:crypto";
import { expect, test } from "./support/fixtures";
import { within } from "./support/stalls";

test("a token is shown once, works, and stops after it was revoked", async ({ open, stack }) => {
  const name = `ui-${randomUUID().slice(0, 8)}`;
  const page = await open("developer", `/o/${stack.org}/settings/api-tokens`);
  await page.getByRole("button", { name: "New token" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "New token" }).click();
  await expect(dialog.getByText("Give it a name.")).toBeVisible();
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByRole("button", { name: "New token" }).click();
  const secret = (await page.getByLabel("Your new token").last().textContent())?.trim() ?? "";
  expect(secret).toMatch(/^grn_/);
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByText(secret)).toHaveCount(0);
  const me = () =>
    fetch(`${stack.api}/organizations/${stack.org}/me`, { headers: { Authorization: `Bearer ${secret}` } });
  expect((await me()).status).toBe(200);
  await page.getByRole("button", { name: `Revoke ${name}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText(`${name} was revoked`)).toBeVisible();
  await within(2_000, (options) => expect.poll(async () => (await me()).status, options).toBe(401));
});

test("admins see the tokens of all members, others only their own", async ({ open, stack }) => {
  const admin = await open("admin", `/o/${stack.org}/settings/api-tokens`);
  await admin.getByText("All", { exact: true }).click();
  await expect(admin.getByRole("row").nth(3)).toBeVisible();
  const developer = await open("developer", `/o/${stack.org}/settings/api-tokens`);
  await expect(developer.getByRole("row").first()).toBeVisible();
  await expect(developer.getByText("All", { exact: true })).toHaveCount(0);
});
