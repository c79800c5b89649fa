// Forges: connecting, changing and removing one. Its token is written and never shown.
import type { Page } from "@playwright/test";
import { randomUUID } from "node:crypto";
import { PIPELINE_PREFIX } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { expectAccessible, expectNoSidewaysScroll } from "./support/pages";

const TOKEN = "canary-of-a-forge";
const newName = () => `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;
const dialogOf = (page: Page, name: string | RegExp) => page.getByRole("dialog", { name });
const rowOf = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });

test("an admin connects, changes and removes a forge; its token is never shown", async ({ open, stack, api }) => {
  test.setTimeout(60_000);
  const name = newName();
  const page = await open("admin", `/o/${stack.org}/settings/forges`);
  await settled(page);
  await page.getByRole("button", { name: "Connect a forge" }).first().click();
  const dialog = dialogOf(page, "Connect a forge");
  await dialog.getByLabel("Name").fill("My Forge");
  await dialog.getByLabel("Kind").selectOption("forgejo");
  await dialog.getByRole("button", { name: "Connect a forge" }).click();
  for (const text of [/^It begins with a small letter/, /^Enter an address/, "Enter a token."])
    await expect(dialog.getByText(text)).toBeVisible();
  await expectAccessible(page, "dialog connect a forge");
  await page.setViewportSize({ width: 360, height: 740 });
  await expectNoSidewaysScroll(page, "dialog connect a forge at 360 px");
  await page.setViewportSize({ width: 1440, height: 900 });
  await dialog.getByLabel("Kind").selectOption("github");
  await expect(dialog.getByLabel("Address of the API")).toHaveValue("https://api.github.com");
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByLabel("Repositories").fill("github.com/acme\n\ngithub.com/a/b/c");
  await dialog.getByLabel("Token").fill(TOKEN);
  await dialog.getByRole("button", { name: "Connect a forge" }).click();
  await expect(dialog.getByText(/^Line 3 /)).toBeVisible();
  await dialog.getByLabel("Repositories").fill("github.com/acme");
  await dialog.getByRole("button", { name: "Connect a forge" }).click();
  await expect(rowOf(page, name)).toContainText("GitHub · https://api.github.com");
  await expect(rowOf(page, name)).toContainText("github.com/acme");
  await expectAccessible(page, "forges");

  // Another address needs the token again.
  await rowOf(page, name)
    .getByRole("button", { name: /^Change/ })
    .click();
  const change = dialogOf(page, `Change ${name}`);
  await expect(change.getByLabel("Token")).toHaveValue("");
  await change.getByLabel("Address of the API").fill("https://git.example.com/api/v3");
  await change.getByRole("button", { name: "Save" }).click();
  await expect(change.getByText(/^Enter it again/)).toBeVisible();
  await change.getByLabel("Token").fill(TOKEN);
  await change.getByLabel("Repositories").fill("git.example.com/acme");
  await change.getByRole("button", { name: "Save" }).click();
  await expect(rowOf(page, name)).toContainText("https://git.example.com/api/v3");
  await expect(change).toHaveCount(0);
  expect(await page.content()).not.toContain(TOKEN);
  expect(JSON.stringify(await api.get(`/forges/${name}`))).not.toContain(TOKEN);

  await rowOf(page, name)
    .getByRole("button", { name: /^Remove/ })
    .click();
  const remove = dialogOf(page, `Remove ${name}?`);
  await remove.getByRole("button", { name: "Remove" }).click();
  await expect(rowOf(page, name)).toHaveCount(0);
});

test("a change by another admin meanwhile is not overwritten", async ({ open, stack, api }) => {
  const name = newName();
  const credential = { token: TOKEN };
  const address = "https://api.github.com";
  await api.send("admin", "POST", "/forges", { name, kind: "github", address, credential });
  const page = await open("admin", `/o/${stack.org}/settings/forges`);
  await rowOf(page, name)
    .getByRole("button", { name: /^Change/ })
    .click();
  const change = dialogOf(page, `Change ${name}`);
  await change.getByLabel("Repositories").fill("github.com/mine");
  await api.send("owner", "PATCH", `/forges/${name}`, { repositories: ["github.com/theirs"] });
  await change.getByRole("button", { name: "Save" }).click();
  await expect(change.getByRole("alert")).toContainText(/has changed/i);
  await page.keyboard.press("Escape");
  await expect(change).toBeHidden();
  await expect(rowOf(page, name)).toContainText("github.com/theirs");
});

test("forges are for admins; others read why", async ({ open, stack }) => {
  const page = await open("developer", `/o/${stack.org}/settings/forges`);
  await expect(page.getByRole("alert").first()).toContainText(/Not allowed|admin/);
  await expect(page.getByRole("button", { name: "Connect a forge" })).toHaveCount(0);
});
