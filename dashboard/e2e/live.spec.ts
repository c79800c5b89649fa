// The event stream under faults: a stopped server, a `reset` message, a changed role, a revoked session, eight tabs. The
// page shows the status of the connection, and the current state within five seconds.
import type { Locator, Page } from "@playwright/test";
import { randomUUID } from "node:crypto";
import { Api, createPipeline, environmentsOf, type TestPipeline } from "./support/api";
import { expect, test } from "./support/fixtures";
import { startServer, stopServer } from "./support/server";
import { signInLink, type Stack, stackOf } from "./support/stack";
import { within } from "./support/stalls";

const FIVE_SECONDS = 5_000;
const TABS = 8;
const ENVIRONMENTS = ["qa-1", "qa-2", "qa-3"];

let pipeline: TestPipeline;

const card = (page: Page, env: string): Locator => page.locator(`[data-env="${env}"]`);
const path = () => `/o/acme/pipelines/${pipeline.slug}`;
const live = (page: Page): Locator => page.getByText("Live", { exact: true });
const claimButton = (page: Page): Locator => card(page, "qa-1").getByRole("button", { name: /^Claim/ });

test.beforeAll(async () => {
  pipeline = await createPipeline(new Api(stackOf()), environmentsOf(ENVIRONMENTS));
});

test.beforeEach(async () => {
  for (const env of ENVIRONMENTS) await pipeline.free(env);
});

/** A claim that is made after the reconnect appears on the board. */
async function expectNextClaimShown(page: Page): Promise<void> {
  await pipeline.claim("secondDeveloper", "qa-2", { context: "the first claim afterwards" });
  const claim = card(page, "qa-2").getByText("the first claim afterwards");
  await within(FIVE_SECONDS, (options) => expect(claim).toBeVisible(options));
  await expect(live(page)).toBeVisible();
}

for (const [signal, name, seconds] of [
  ["SIGKILL", "killed for 20 seconds", 20],
  ["SIGTERM", "drained and started again", 5],
] as const) {
  test(`a server is ${name}: the page says so, keeps a draft, and is right again`, async ({ open }) => {
    test.setTimeout(120_000);
    const page = await open("developer", path());
    await expect(live(page)).toBeVisible();
    await claimButton(page).click();
    await page.getByLabel("What for?").fill("a draft");
    stopServer(signal);
    await within(FIVE_SECONDS, (options) => expect(page.getByText(/Reconnecting, as of/)).toBeVisible(options));
    await page.waitForTimeout(seconds * 1_000);
    startServer();
    await expectNextClaimShown(page);
    await expect(page.getByLabel("What for?")).toHaveValue("a draft");
    // The chunk of this dialog could not be fetched while the server was stopped.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+?");
    await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
  });
}

test("events were missed: the page says so and reads everything again", async ({ open }) => {
  const page = await open("developer", path());
  await expect(live(page)).toBeVisible();
  await page.route("**/events/stream?*", async (route) => {
    const url = new URL(route.request().url());
    // No event has this sequence number, so the server sends `reset`.
    url.searchParams.set("after", "999999999");
    await route.continue({ url: url.href });
  });
  // A reload opens the stream again, now with the changed parameter.
  await page.reload();
  const notice = page.getByText("Some changes were missed. Everything was read again.");
  await within(FIVE_SECONDS, (options) => expect(notice).toBeVisible(options));
  await expectNextClaimShown(page);
});

test("a role that changes: the page shows the rights of now", async ({ open, api }) => {
  const { userId } = await api.get<{ userId: string }>("/me", "secondDeveloper");
  const page = await open("secondDeveloper", path());
  await expect(live(page)).toBeVisible();
  await expect(claimButton(page)).not.toHaveAttribute("aria-disabled", "true");
  await api.send("owner", "PATCH", `/members/${userId}`, { role: "viewer" });
  try {
    await within(FIVE_SECONDS, (options) =>
      expect(claimButton(page)).toHaveAttribute("aria-disabled", "true", options),
    );
  } finally {
    await api.send("owner", "PATCH", `/members/${userId}`, { role: "developer" });
  }
  await within(FIVE_SECONDS, (options) =>
    expect(claimButton(page)).not.toHaveAttribute("aria-disabled", "true", options),
  );
});

/** Opens the board for a new member, who signs in by a link. */
async function openAs(page: Page, stack: Stack, email: string): Promise<void> {
  await page.goto(signInLink(stack, email));
  const signedIn = page.waitForResponse((response) => response.url().endsWith("/auth/link"));
  await page.getByRole("button", { name: "Continue" }).click();
  await signedIn;
  await page.goto(path());
  await expect(live(page)).toBeVisible();
}

test("a browser session that is revoked, and a member who is removed: the page leads to the sign-in", async ({
  open,
  stack,
  api,
}) => {
  const email = `${randomUUID()}@example.test`;
  const { userId } = await api.send<{ userId: string }>("admin", "POST", "/members", {
    email,
    name: "Rita Revoked",
    role: "developer",
  });
  const first = await open(undefined, "/sign-in");
  await openAs(first, stack, email);
  const second = await open(undefined, "/sign-in");
  // Signing in with an operator's link revokes all other browser sessions of the person.
  await openAs(second, stack, email);
  await within(FIVE_SECONDS, (options) => expect(first).toHaveURL(/\/sign-in/, options));
  await api.request("owner", "DELETE", `/members/${userId}`);
  const signedOut = second
    .getByText(/not yours/)
    .or(second.getByText(/Sign in/))
    .first();
  await within(FIVE_SECONDS, (options) => expect(signedOut).toBeVisible(options));
});

test("eight tabs share one stream, and all of them are right", async ({ open, stack }) => {
  test.setTimeout(120_000);
  const first = await open("developer", path());
  await expect(live(first)).toBeVisible();
  let streams = 0;
  first.context().on("request", (request) => {
    if (request.url().includes("/events/stream")) streams += 1;
  });
  const tabs = [first];
  while (tabs.length < TABS) {
    const tab = await first.context().newPage();
    await tab.goto(`${stack.dashboard}${path()}`);
    await expect(card(tab, "qa-3").getByText("Free", { exact: true })).toBeVisible();
    tabs.push(tab);
  }
  await pipeline.claim("secondDeveloper", "qa-3", { context: "seen by all tabs" });
  for (const tab of tabs) {
    const claim = card(tab, "qa-3").getByText("seen by all tabs");
    await within(FIVE_SECONDS, (options) => expect(claim).toBeVisible(options));
  }
  expect(streams, "streams that the other tabs have opened").toBe(0);
});
