// Organization Settings > Service accounts: which tokens of a CI system an account trusts.
import { randomUUID } from "node:crypto";
import { createPipeline, environmentsOf, PIPELINE_PREFIX } from "./support/api";
import { expect, test } from "./support/fixtures";
import { expectAccessible } from "./support/pages";

test("a trust policy pins an id and a ref, and is deleted", async ({ open, stack, api }) => {
  const pipeline = await createPipeline(api, environmentsOf(["qa-1"]));
  const name = `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;
  const { id } = await api.send<{ id: string }>("owner", "POST", "/service-accounts", { name, role: "developer" });
  const page = await open("admin", `/o/${stack.org}/settings/service-accounts/${id}`);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "New trust policy" }).click();
  await dialog.getByLabel("Name").fill("main branch");
  await dialog.getByRole("button", { name: "New trust policy" }).click();
  await expect(dialog.getByText(/^Each claim needs a name and a value/)).toBeVisible();
  await dialog.getByLabel("Value 1").fill("74");
  await dialog.getByLabel("Value 2").fill("refs/heads/main");
  await dialog.getByLabel(`Tests ${pipeline.slug}`).check();
  await expectAccessible(page, "dialog new trust policy");
  await dialog.getByRole("button", { name: "New trust policy" }).click();
  const policy = page.getByRole("row").filter({ hasText: "main branch" });
  await expect(policy).toContainText("repository_id = 74");
  await policy.getByRole("button", { name: /^Delete/ }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(policy).toHaveCount(0);
});
