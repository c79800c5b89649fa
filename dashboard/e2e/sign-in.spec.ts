// Signing in: the first owner, a link, a password, a wrong password, the way back to the page that was open, signing out.
import { randomUUID } from "node:crypto";
import type { Api } from "./support/api";
import { MEMBER_DOMAIN } from "./support/cleanUp";
import { expect, settled, test } from "./support/fixtures";
import { NewInstallation } from "./support/newInstallation";
import { expectAccessible, expectNoSidewaysScroll } from "./support/pages";

test.beforeEach(({ stack }) => test.skip(!stack.linkCommand, "the server has no sign-in links"));

const PASSWORD = `green-door-${randomUUID()}`;

/** A new member, and the link with which an admin enrolls them. */
async function enroll(api: Api): Promise<{ email: string; url: string }> {
  const email = `${randomUUID()}${MEMBER_DOMAIN}`;
  const { userId } = await api.send<{ userId: string }>("admin", "POST", "/members", {
    email,
    name: "Nora New",
    role: "developer",
  });
  const { url } = await api.send<{ url: string }>("admin", "POST", `/members/${userId}/sign-in-link`);
  return { email, url };
}

test("a link enrolls a person once; the password then signs in and returns to the page", async ({
  open,
  stack,
  api,
}) => {
  const { email, url } = await enroll(api);
  const page = await open(undefined, url.replace(/^https?:\/\/[^/]+/, ""));
  await expect(page).toHaveURL(`${stack.dashboard}/welcome`);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();

  await page.getByRole("button", { name: "Nora New" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();

  await page.goto(`/o/${stack.org}/deployments`);
  await expect(page).toHaveURL(/sign-in\?return=/);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(`${PASSWORD}-wrong`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText("That did not match.")).toBeVisible();
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "Deployments" })).toBeVisible();
  expect(await page.evaluate(() => document.cookie)).toBe("");

  const again = await open(undefined, url.replace(/^https?:\/\/[^/]+/, ""));
  await again.getByRole("button", { name: "Continue" }).click();
  await expect(again.getByText(/not valid|used|expired/i)).toBeVisible();
});

test("the way back never leads to another site", async ({ open, stack, api }) => {
  const { email, url } = await enroll(api);
  const page = await open(undefined, url.replace(/^https?:\/\/[^/]+/, ""));
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  for (const target of ["//evil.example", "https://evil.example", "/\\evil.example"]) {
    await page.goto(`/sign-in?return=${encodeURIComponent(target)}`);
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
    expect(page.url().startsWith(stack.dashboard)).toBe(true);
  }
});

test("somebody who is not signed in reaches no screen", async ({ open, stack }) => {
  const page = await open(undefined, `/o/${stack.org}/settings/api-tokens`);
  await expect(page).toHaveURL(/\/sign-in\?return=/);
});

test("the first owner creates the organization with the printed link, once", async ({ open, stack }) => {
  test.setTimeout(90_000);
  const installation = new NewInstallation(stack.linkCommand?.[0] ?? "");
  try {
    const replaced = await installation.start();
    const link = await installation.start();
    expect(link).not.toBe(replaced);
    const page = await open(undefined, link);
    await expect(page).toHaveURL(/\/setup$/);
    await settled(page);
    await expectAccessible(page, "setup form");
    await page.setViewportSize({ width: 360, height: 740 });
    await expectNoSidewaysScroll(page, "setup form at 360 px");

    await page.getByLabel("Organization", { exact: true }).fill("Web Shop (EU)");
    await expect(page.getByLabel("Name in addresses")).toHaveValue("web-shop-eu");
    await page.getByLabel("Name in addresses").fill("events");
    await page.getByLabel("Your name").fill("Olga Owner");
    await page.getByLabel("Your e-mail").fill("olga@example.test");
    await page.getByRole("button", { name: "Create organization" }).click();
    await expect(page.getByText("is a reserved word", { exact: false })).toBeVisible();
    await page.getByLabel("Name in addresses").fill("shop");
    await page.getByRole("button", { name: "Create organization" }).click();
    await page.getByLabel("New password").fill(PASSWORD);
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
    await expect(page).toHaveURL(/\/o\/shop$/);

    // The server that printed the first link listened on another port.
    for (const used of [link, new URL(new URL(replaced).hash, link).href]) {
      const again = await open(undefined, used);
      await again.getByLabel("Organization", { exact: true }).fill("Other");
      await again.getByLabel("Your name").fill("Somebody Else");
      await again.getByLabel("Your e-mail").fill("else@example.test");
      await again.getByRole("button", { name: "Create organization" }).click();
      await expect(again.getByText("This installation has an organization already", { exact: false })).toBeVisible();
      await again.getByRole("link", { name: "Sign in" }).click();
      await expect(again.getByRole("heading", { name: "Sign in" })).toBeVisible();
    }
  } finally {
    await installation.end();
  }
});
