// What a browser lets other sites do, what the dashboard leaves behind in it, and what the cookie is.
import type { Browser, BrowserContext, Page } from "@playwright/test";
import { randomUUID } from "node:crypto";
import { Api, createPipeline, environmentsOf, type TestPipeline } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { screensOf } from "./support/screens";
import { stateFile } from "./support/signIn";
import { Site } from "./support/site";
import { signInLink, stackOf } from "./support/stack";

const COOKIE = "__Host-greenroom";
const PASSWORD = `correct-${randomUUID()}-staple`;

let pipeline: TestPipeline;
let site: Site;

test.beforeAll(async () => {
  site = await Site.start("<!doctype html><title>Another site</title><body>Another site");
  const environments = `${environmentsOf(["qa-1"])}\n    url: ${site.address("localhost")}/page`;
  pipeline = await createPipeline(new Api(stackOf()), environments);
});

test.afterAll(() => site?.close());

test("every screen has the same policy, breaks it nowhere, and keeps no secret in storage or in its address", async ({
  open,
  stack,
  api,
}) => {
  test.setTimeout(240_000);
  const screens = await screensOf(stack, api);
  // The screens of other people are opened by the tests of accessibility, which fail on a violation as well.
  const page = await open("developer", "/");
  const policies = new Set<string | undefined>();
  for (const { person, path } of screens) {
    const response = await page.request.get(path);
    policies.add(response.headers()["content-security-policy"]);
    expect(response.headers()["x-content-type-options"]).toBe("nosniff");
    if (person && person !== "developer") continue;
    await page.goto(path);
    await settled(page);
    const kept = await page.evaluate(() =>
      [...Object.values(localStorage), ...Object.values(sessionStorage)].join(" "),
    );
    expect(kept).not.toMatch(/grn_|__Host/);
    expect(page.url()).not.toMatch(/grn_/);
  }
  expect(await page.evaluate(() => document.cookie)).toBe("");
  expect([...policies]).toEqual([
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  ]);
});

test("no dialog violates the content security policy", async ({ open }) => {
  test.setTimeout(120_000);
  const page = await open("developer", `/o/acme/pipelines/${pipeline.slug}`);
  await settled(page);
  await page
    .locator('[data-env="qa-1"]')
    .getByRole("button", { name: /^Claim/ })
    .click();
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Shift+?");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.goto("/o/acme/settings/api-tokens");
  await page.getByRole("button", { name: "New token" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
});

test("the policy stops what it has to stop, and the tests notice it", async ({ browser, stack }) => {
  const context = await browser.newContext({ baseURL: stack.dashboard });
  const page = await context.newPage();
  await page.goto("/sign-in");
  const stopped = await page.evaluate(async () => {
    const seen: string[] = [];
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => seen.push(effectiveDirective));
    const attempt = (run: () => unknown) => {
      try {
        run();
      } catch {
        // A violation of trusted types throws as well.
      }
    };
    attempt(() => document.body.setAttribute("onclick", "0"));
    attempt(() => (document.body.appendChild(document.createElement("style")).textContent = "*{color:red}"));
    attempt(() => (document.body.appendChild(document.createElement("div")).innerHTML = "<b>x</b>"));
    attempt(() => (document.body.appendChild(document.createElement("img")).src = "https://evil.test/x.png"));
    attempt(() => void fetch("https://evil.test/").catch(() => undefined));
    attempt(() =>
      document.body.appendChild(document.createElement("iframe")).setAttribute("src", "https://evil.test/"),
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    return seen;
  });
  for (const directive of ["style-src-elem", "require-trusted-types-for", "img-src", "connect-src", "frame-src"])
    expect(stopped).toContain(directive);
  await context.close();
});

// `localhost` is another site; the dashboard's own host with another port is another origin of the same site, to which
// the browser even sends the cookie along.
for (const host of ["localhost", "127.0.0.1"] as const) {
  test(`a page on http://${host} with another port can't change or read anything`, async ({ browser, stack }) => {
    test.setTimeout(60_000);
    await pipeline.free("qa-1");
    const page = await signedIn(browser);
    const statuses = await statusesOf(page);
    await page.goto(site.address(host));
    const claim = `${stack.dashboard}/api/v1/organizations/acme${pipeline.environment("qa-1")}/sessions`;
    const read = await page.evaluate(attackByFetch, { claim, me: `${stack.dashboard}/api/v1/me` });
    expect(read).toEqual([]);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] as const) {
      await page.goto(site.address(host));
      await Promise.all([page.waitForEvent("load"), page.evaluate(attackByForm, { claim, type })]);
      await expect(page.locator("body")).toContainText("requestId");
    }
    // Three by fetch, three by form; requests that need the server's permission before are not even sent.
    // The browser reports a response a moment after the page has it.
    const count = (method: string) => statuses.filter((status) => status.startsWith(method)).length;
    await expect.poll(() => [count("POST"), count("GET")]).toEqual([6, 2]);
    for (const status of statuses) expect(status).toMatch(/^(POST (401|403|415)|GET 401|OPTIONS 4\d\d)$/);
    const { lock } = await pipeline.api.get<{ lock: { status: string } }>(pipeline.environment("qa-1"));
    expect(lock.status).toBe("free");
    await page.context().close();
  });
}

test("a page on another site can't show the dashboard in a frame, nor sign a person out", async ({
  browser,
  stack,
}) => {
  for (const host of ["localhost", "127.0.0.1"] as const) {
    const page = await signedIn(browser);
    const statuses = await statusesOf(page);
    await page.goto(site.address(host));
    const isClosed = await page.evaluate(async ({ dashboard }) => {
      const frame = document.createElement("iframe");
      frame.src = `${dashboard}/o/acme`;
      document.body.append(frame);
      await new Promise((resolve) => frame.addEventListener("load", resolve));
      const init: RequestInit = { method: "POST", mode: "no-cors", credentials: "include", body: "{}" };
      for (const path of ["/auth/sign-out", "/auth/link", "/auth/password"])
        await fetch(`${dashboard}/api/v1${path}`, init).catch(() => undefined);
      return frame.contentDocument === null;
    }, stack);
    expect(isClosed).toBe(true);
    for (const frame of page.frames().slice(1)) expect(frame.url()).not.toContain(stack.dashboard);
    // The browser does not report a response that it blocks.
    await expect.poll(() => statuses.length).toBeGreaterThan(0);
    for (const status of statuses) expect(status).toMatch(/^POST (401|403|415)$/);
    await page.goto(`${stack.dashboard}/o/acme`);
    await settled(page);
    await expect(page).toHaveURL(/\/o\/acme$/);
    await page.context().close();
  }
});

test("an environment's site receives neither the cookie nor the address of the page", async ({ open, stack }) => {
  const page = await open("developer", `/o/acme/pipelines/${pipeline.slug}/environments/qa-1`);
  await settled(page);
  site.received.length = 0;
  const [opened] = await Promise.all([
    page.waitForEvent("popup"),
    page
      .getByRole("link", { name: `${site.address("localhost")}/page` })
      .first()
      .click(),
  ]);
  await opened.waitForLoadState();
  expect(await opened.evaluate(() => window.opener === null && document.referrer === "")).toBe(true);
  expect(site.received.map(({ path }) => path)).toContain("/page");
  for (const { headers } of site.received) {
    expect(headers.cookie).toBeUndefined();
    expect(headers.referer ?? "").not.toContain(stack.dashboard);
    expect(headers.authorization).toBeUndefined();
  }
  // This shows why environments need another host: to another port of the same one the browser sends the cookie.
  await opened.goto(site.address("127.0.0.1"));
  expect(site.received.at(-1)?.headers.cookie).toContain(COOKIE);
  await expect(page.context().cookies(stack.dashboard)).resolves.toHaveLength(1);
});

test("signing in and creating a token leave no secret in the browser", async ({ open, stack, api }) => {
  test.skip(!stack.linkCommand, "the server has no sign-in links");
  test.setTimeout(120_000);
  const email = `${randomUUID()}@example.test`;
  await api.send("admin", "POST", "/members", { email, name: "Sam Secret", role: "developer" });
  const link = signInLink(stack, email);
  const code = new URL(link).hash.slice(1);
  expect(code.length).toBeGreaterThan(30);

  const page = await open(undefined, link);
  const addresses = addressesOf(page);
  await expect(page.getByRole("button", { name: "Continue" })).toBeVisible();
  expect(await page.evaluate(() => location.href)).not.toContain(code);
  const answer = page.waitForResponse((response) => response.url().endsWith("/auth/link"));
  await page.getByRole("button", { name: "Continue" }).click();
  const cookies = (await (await answer).headersArray()).filter(({ name }) => name.toLowerCase() === "set-cookie");
  expect(cookies.map(({ value }) => value.replace(/=[0-9a-f]{64};/, "=…;"))).toEqual([
    `${COOKIE}=…; Path=/; Max-Age=1209600; Secure; HttpOnly; SameSite=Strict`,
  ]);
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page).toHaveURL(/\/o\/acme$/);

  await page.goto("/o/acme/settings/api-tokens");
  await page.getByRole("button", { name: "New token" }).first().click();
  await page.getByLabel("Name").fill("deploys");
  await page.getByRole("dialog").getByRole("button", { name: "New token" }).click();
  const shown = page.getByRole("dialog").getByText(/^grn_\w{36}$/);
  await expect(shown).toBeVisible();
  const token = (await shown.textContent()) ?? "";
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);

  const session = (await page.context().cookies()).find(({ name }) => name === COOKIE);
  expect(session).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict", path: "/", domain: "127.0.0.1" });
  const secrets = { code, token, password: PASSWORD, session: session?.value ?? "" };
  await expectNoTrace(page, secrets);
  await page.reload();
  await settled(page);
  await expectNoTrace(page, secrets);
  await page.goto("/o/acme");
  await page.goBack();
  await settled(page);
  await expectNoTrace(page, secrets);
  for (const [name, secret] of Object.entries(secrets))
    for (const address of addresses) expect(address, `${name} in an address`).not.toContain(secret);
  await expectSignedOut(page, session?.value ?? "");
});

/** A page in a browser of a developer, on which violations of the policy are expected. */
async function signedIn(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ storageState: stateFile("developer") });
  return context.newPage();
}

/** The methods and statuses of all requests to the API, also of those whose response the browser withholds. */
async function statusesOf(page: Page): Promise<string[]> {
  const methods = new Map<string, string>();
  const statuses: string[] = [];
  const devtools = await page.context().newCDPSession(page);
  devtools.on("Network.requestWillBeSent", ({ requestId, request }) => {
    if (request.url.includes("/api/v1/")) methods.set(requestId, request.method);
  });
  devtools.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => {
    const method = methods.get(requestId);
    if (method) statuses.push(`${method} ${statusCode}`);
  });
  await devtools.send("Network.enable");
  return statuses;
}

/** Tries to change and to read from another origin by `fetch`, and returns what could be read. */
async function attackByFetch({ claim, me }: { claim: string; me: string }): Promise<string[]> {
  const read: string[] = [];
  const body = JSON.stringify({ context: "claimed by another site" });
  const attempt = async (address: string, init: RequestInit) => {
    try {
      const text = await (await fetch(address, { credentials: "include", ...init })).text();
      if (text !== "") read.push(text);
    } catch {
      // Refused by the browser.
    }
  };
  await attempt(claim, { method: "POST", body, headers: { "Content-Type": "application/json" } });
  await attempt(claim, { method: "POST", body, headers: { "Content-Type": "text/plain" } });
  await attempt(claim, { method: "POST", body, mode: "no-cors" });
  await attempt(claim, { method: "POST", mode: "no-cors" });
  await attempt(claim, { method: "DELETE" });
  await attempt(me, {});
  await attempt(me, { mode: "no-cors" });
  return read;
}

/** Sends a form that a server could take for JSON, as a page load. */
function attackByForm({ claim, type }: { claim: string; type: string }): void {
  const form = document.createElement("form");
  Object.assign(form, { action: claim, method: "post", enctype: type });
  const field = document.createElement("input");
  Object.assign(field, { name: '{"context":"claimed by a form","x":"', value: '"}' });
  form.append(field);
  document.body.append(form);
  form.submit();
}

/** Collects the addresses of all requests, with their referrers. */
function addressesOf(page: Page): string[] {
  const addresses: string[] = [];
  page.on("request", (request) => addresses.push(request.url(), request.headers().referer ?? ""));
  return addresses;
}

/** Looks for secrets in the document, its address and history, and in everything that a page can store. */
async function expectNoTrace(page: Page, secrets: Record<string, string>): Promise<void> {
  const kept = await page.evaluate(async () => {
    const databases = await indexedDB.databases();
    const navigation = (window as unknown as { navigation: { entries(): { url: string }[] } }).navigation;
    return {
      document: document.documentElement.outerHTML,
      values: [...document.querySelectorAll("input, textarea")].map((field) => (field as HTMLInputElement).value),
      address: location.href,
      history: [JSON.stringify(history.state), ...navigation.entries().map(({ url }) => url)],
      requests: performance.getEntries().map(({ name }) => name),
      localStorage: JSON.stringify({ ...localStorage }),
      sessionStorage: JSON.stringify({ ...sessionStorage }),
      databases: databases.map(({ name }) => name),
      caches: await caches.keys(),
      workers: (await navigator.serviceWorker.getRegistrations()).length,
      cookie: document.cookie,
      window: window.name,
    };
  });
  expect(kept).toMatchObject({ databases: [], caches: [], workers: 0, cookie: "", window: "" });
  for (const [place, found] of Object.entries(kept))
    for (const [name, secret] of Object.entries(secrets))
      expect(JSON.stringify(found), `${name} in ${place}`).not.toContain(secret);
}

/** Signs out, and sends the old cookie again. */
async function expectSignedOut(page: Page, session: string): Promise<void> {
  const context: BrowserContext = page.context();
  await page.evaluate(() => fetch("/api/v1/auth/sign-out", { method: "POST" }));
  expect(await context.cookies()).toEqual([]);
  await expect
    .poll(async () => (await fetch(`${stackOf().api}/me`, { headers: { Cookie: `${COOKIE}=${session}` } })).status)
    .toBe(401);
}
