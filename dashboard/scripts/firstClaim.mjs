// From the link of a new installation to the first claim, in a browser: what a newcomer does in the first two minutes.
// Usage: node firstClaim.mjs LINK FOLDER
// Prints the seconds after which each step was done, as JSON; FOLDER gets a picture of each and trace.zip, for `npx playwright show-trace`.
import { chromium, expect } from "@playwright/test";

const [link, folder] = process.argv.slice(2);
if (!link || !folder) {
  console.error("usage: node firstClaim.mjs LINK FOLDER");
  process.exit(2);
}

const began = performance.now();
const steps = [];
const origin = new URL(link).origin;
const password = `green-door-${began.toString(36)}-${process.pid}`;
const browser = await chromium.launch({
  executablePath: process.env.GREENROOM_CHROMIUM ?? "/usr/bin/chromium",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});

async function main() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-GB" });
  await context.tracing.start({ screenshots: true, snapshots: true });
  const page = await context.newPage();
  const done = async (step) => {
    steps.push({ step, seconds: Number(((performance.now() - began) / 1000).toFixed(1)) });
    await page.screenshot({ path: `${folder}/${steps.length}.png` });
  };
  try {
    await page.goto(link);
    await page.getByLabel("Organization", { exact: true }).fill("Acme");
    await page.getByLabel("Your name").fill("Olga Owner");
    await page.getByLabel("Your e-mail").fill("olga@example.test");
    await done("the form is filled in");
    await page.getByRole("button", { name: "Create organization" }).click();
    await page.getByLabel("New password").fill(password);
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
    await done("signed in");

    // Pipelines can't be created in the dashboard yet, so this step is the API's, as the empty page says.
    await page.goto(`${origin}/o/acme/settings/api-tokens`);
    await page.getByRole("button", { name: "New token" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("first pipeline");
    await dialog.getByLabel(/^write/).check();
    await dialog.getByRole("button", { name: "New token" }).click();
    const token = (await page.getByLabel("Your new token").last().textContent())?.trim() ?? "";
    await done("a token is made");
    await page.getByRole("button", { name: "Done" }).click();
    const definition = JSON.stringify({
      version: 1,
      ephemeralEnvironments: { "qa-1": { stages: ["build"] } },
      stages: { build: { only: "ephemeral", steps: [{ image: "debian:12-slim", run: "echo hello" }] } },
    });
    const created = await fetch(`${origin}/api/v1/organizations/acme/pipelines`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ name: "Storefront", slug: "storefront", definition }),
    });
    if (created.status !== 201)
      throw new Error(`the pipeline was not created: ${created.status} ${await created.text()}`);
    await page.goto(`${origin}/o/acme/pipelines/storefront`);
    await expect(page.locator('[data-env="qa-1"]')).toBeVisible();
    await done("a pipeline with an environment is there");

    await page
      .locator('[data-env="qa-1"]')
      .getByRole("button", { name: /^Claim/ })
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Claim", exact: true }).click();
    await expect(page.locator('[data-env="qa-1"]').getByText("Yours", { exact: true })).toBeVisible();
    await done("the environment is claimed");
  } catch (error) {
    await page.screenshot({ path: `${folder}/failed.png` });
    throw error;
  } finally {
    await context.tracing.stop({ path: `${folder}/trace.zip` });
  }
}

try {
  await main();
  console.log(JSON.stringify({ steps }));
} finally {
  await browser.close();
}
