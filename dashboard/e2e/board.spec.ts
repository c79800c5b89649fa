// The environment board, with one and with two people at the same time.
import type { Locator, Page } from "@playwright/test";
import { Api, createPipeline, environmentsOf, type TestPipeline } from "./support/api";
import { expect, test } from "./support/fixtures";
import { stackOf } from "./support/stack";
import { within } from "./support/stalls";

let pipeline: TestPipeline;

const card = (page: Page, env: string): Locator => page.locator(`[data-env="${env}"]`);
const button = (page: Page, env: string, name: string): Locator =>
  card(page, env).getByRole("button", { name: new RegExp(`^${name}`) });

test.beforeAll(async () => {
  pipeline = await createPipeline(new Api(stackOf()), environmentsOf(["qa-1", "qa-2", "qa-3"]));
});

test.beforeEach(async () => {
  for (const env of ["qa-1", "qa-2", "qa-3"]) await pipeline.free(env);
});

const path = () => `/o/acme/pipelines/${pipeline.slug}`;

test("claim by two clicks, renew, release", async ({ open }) => {
  const page = await open("developer", path());
  await button(page, "qa-1", "Claim").click();
  await page.getByRole("dialog").getByRole("button", { name: "Claim", exact: true }).click();
  await expect(card(page, "qa-1").getByText("Yours", { exact: true })).toBeVisible();
  await expect(card(page, "qa-1").getByText("(you)")).toBeVisible();
  await button(page, "qa-1", "Renew").click();
  await expect(page.getByText(/qa-1 is yours until/)).toBeVisible();
  await button(page, "qa-1", "Release").click();
  await expect(card(page, "qa-1").getByText("Free", { exact: true })).toBeVisible();
});

test("claim by keys alone", async ({ open }) => {
  const page = await open("developer", path());
  await expect(card(page, "qa-1")).toBeVisible();
  await page.keyboard.press("j");
  await expect(card(page, "qa-1").getByRole("link")).toBeFocused();
  await page.keyboard.press("c");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(card(page, "qa-1").getByText("Yours", { exact: true })).toBeVisible();
  await page.keyboard.press("x");
  await expect(card(page, "qa-1").getByText("Free", { exact: true })).toBeVisible();
});

test("a claim appears in the other browser", async ({ open }) => {
  const one = await open("developer", path());
  const two = await open("secondDeveloper", path());
  await expect(card(two, "qa-2").getByText("Free", { exact: true })).toBeVisible();
  await button(one, "qa-2", "Claim").click();
  await one.getByLabel("What for?").fill("Checkout fix");
  await one.getByRole("dialog").getByRole("button", { name: "Claim", exact: true }).click();
  await expect(card(two, "qa-2").getByText("Held", { exact: true })).toBeVisible();
  await expect(card(two, "qa-2").getByText("Checkout fix")).toBeVisible();
});

test("queue, turn and take", async ({ open }) => {
  const one = await open("developer", path());
  const two = await open("secondDeveloper", path());
  await pipeline.claim("developer", "qa-1");
  await button(two, "qa-1", "Queue").click();
  await expect(two.getByText(/Your place is kept until .*, also if you close this page\./)).toBeVisible();
  await expect(card(two, "qa-1").getByText(/In line/)).toBeVisible();
  await expect(card(one, "qa-1").getByText("1 in line")).toBeVisible();
  await button(one, "qa-1", "Release").click();
  await expect(one.getByRole("dialog").getByText(/the next one gets it at once/)).toBeVisible();
  await one.getByRole("dialog").getByRole("button", { name: "Release", exact: true }).click();
  await expect(two.getByText("qa-1 is yours: it is your turn.")).toBeVisible();
  await two.getByRole("button", { name: "Take it" }).first().click();
  await expect(card(two, "qa-1").getByText("Yours", { exact: true })).toBeVisible();
});

test("ask for it, and hand it over", async ({ open }) => {
  const held = await pipeline.claim("developer", "qa-3", { context: "my work" });
  const holder = await open("developer", `${path()}/environments/qa-3/sessions/${held.sessionId}`);
  const asking = await open("secondDeveloper", path());
  await button(asking, "qa-3", "Ask for it").click();
  await asking.getByLabel("What for?").fill("demo at 5");
  await asking.getByRole("dialog").getByRole("button", { name: "Ask for it" }).click();
  await expect(holder.getByText(/asks for qa-3: “demo at 5”/).first()).toBeVisible();
  await holder.getByRole("button", { name: "Hand it over" }).first().click();
  await expect(card(asking, "qa-3").getByText(/Your turn|Yours/)).toBeVisible();
});

test("taken over by force: the displaced person reads who and why within two seconds", async ({ open }) => {
  await pipeline.claim("developer", "qa-1", { context: "long run" });
  const displaced = await open("developer", path());
  const other = await open("secondDeveloper", path());
  await expect(card(displaced, "qa-1").getByText("Yours", { exact: true })).toBeVisible();
  await button(other, "qa-1", "Ask for it").click();
  await other.getByRole("dialog").getByRole("button", { name: "Take over by force" }).click();
  const sheet = other.getByRole("dialog");
  await sheet.getByRole("button", { name: "Take over qa-1" }).click();
  await expect(sheet.getByText("Give a reason")).toBeVisible();
  await sheet.getByLabel("Reason").fill("hotfix for the outage");
  await sheet.getByRole("button", { name: "Take over qa-1" }).click();
  const notice = displaced.getByText(/Taken over by .*hotfix for the outage/).first();
  await within(2_000, (options) => expect(notice).toBeVisible(options));
  await within(2_000, (options) =>
    expect(card(displaced, "qa-1").getByText("Held", { exact: true })).toBeVisible(options),
  );
});

test("a viewer reads why nothing can be claimed", async ({ open }) => {
  const page = await open("viewer", path());
  const claim = button(page, "qa-1", "Claim");
  await expect(claim).toHaveAttribute("aria-disabled", "true");
  await expect(claim).toHaveAttribute("title", "Developers can claim; you are a viewer");
});

test("filters are part of the address", async ({ open }) => {
  const page = await open("developer", path());
  await page.getByLabel(/Filter by name/).fill("qa-2");
  await expect(page.locator("[data-env]")).toHaveCount(1);
  await expect(page).toHaveURL(/q=qa-2/);
  await page.reload();
  await expect(page.locator("[data-env]")).toHaveCount(1);
});
