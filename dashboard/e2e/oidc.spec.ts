// Signing in at a real OpenID provider, by its own login form. The provider has another host than the dashboard, so
// the browser comes back from another site. `GREENROOM_OIDC_PROVIDERS` names the operator's file that the server has.
import type { BrowserContext, Page } from "@playwright/test";
import { createHash, randomUUID } from "node:crypto";
import { Api } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { configuredProviders, OidcProvider } from "./support/oidcProvider";
import { stackOf } from "./support/stack";

const SESSION = "__Host-greenroom";
const [inToken, atUserinfo] = configuredProviders();

test.skip(!inToken || !atUserinfo, "GREENROOM_OIDC_PROVIDERS does not name a file with two providers");

// One sign-in loads four pages at the provider.
test.describe.configure({ timeout: 120_000 });

let example: OidcProvider;
let userinfo: OidcProvider;

test.beforeAll(async () => {
  if (!inToken || !atUserinfo) return;
  const { dashboard } = stackOf();
  example = new OidcProvider(inToken);
  userinfo = new OidcProvider(atUserinfo);
  await example.listen(dashboard, true);
  await userinfo.listen(dashboard, false);
});

test.afterAll(async () => {
  await example?.close();
  await userinfo?.close();
});

/** Adds a member who has never signed in, and returns the address. */
async function addMember(name: string): Promise<string> {
  const email = `${randomUUID()}@example.test`;
  await new Api(stackOf()).send("admin", "POST", "/members", { email, name, role: "developer" });
  return email;
}

/** Adds an account at the provider, and returns its subject. */
function addAccount(provider: OidcProvider, email: string, isVerified = true): string {
  const subject = `subject-${randomUUID()}`;
  provider.accounts.set(subject, { email, email_verified: isVerified });
  return subject;
}

/** Fills in the provider's forms, from its first page to the way back. */
async function logIn(page: Page, subject: string): Promise<void> {
  await page.locator("input[name=login]").fill(subject);
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

async function signIn(page: Page, provider: OidcProvider, subject: string): Promise<void> {
  await page.goto("/sign-in");
  await page.getByRole("link", { name: `Sign in with ${provider.settings.name}`, exact: true }).click();
  await expect(page).toHaveURL((url) => url.origin === provider.settings.issuer);
  await logIn(page, subject);
}

const sessionOf = async (context: BrowserContext) =>
  (await context.cookies(stackOf().dashboard)).find(({ name }) => name === SESSION);

/** The person whom the browser is signed in as. */
async function whoAmI(page: Page): Promise<string> {
  const response = await page.evaluate(async () => (await fetch("/api/v1/me")).json());
  return (response as { data: { name: string } }).data.name;
}

/** Stops the first page load of such an address, also within redirects, and returns the address. */
async function stopBefore(page: Page, urlPattern: string): Promise<{ address: Promise<string> }> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Fetch.enable", { patterns: [{ urlPattern }] });
  const address = new Promise<string>((resolve) => {
    devtools.once("Fetch.requestPaused", async ({ request, requestId }) => {
      await devtools.send("Fetch.failRequest", { requestId, errorReason: "Aborted" });
      await devtools.detach();
      resolve(request.url);
    });
  });
  return { address };
}

async function expectRefused(page: Page): Promise<void> {
  await expect(page).toHaveURL(/\/sign-in\?error=sign_in_failed$/);
  await settled(page);
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await expect(page.getByRole("alert")).toContainText("You are not signed in");
  expect(await sessionOf(page.context())).toBeUndefined();
}

test("a member with a verified address is signed in, and lands on the page that was open", async ({ open }) => {
  const subject = addAccount(example, await addMember("Olga Verified"));
  const page = await open(undefined, "/o/acme/pipelines");
  await expect(page).toHaveURL(/\/sign-in\?return=/);
  await page.getByRole("link", { name: "Sign in with Example", exact: true }).click();
  await logIn(page, subject);
  await expect(page).toHaveURL(/\/o\/acme\/pipelines$/);
  await settled(page);
  expect(await whoAmI(page)).toBe("Olga Verified");
  const cookie = await sessionOf(page.context());
  expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict", path: "/", domain: "127.0.0.1" });
});

test("a provider that states the address only on request signs a member in as well", async ({ open }) => {
  const subject = addAccount(userinfo, await addMember("Uma Userinfo"));
  const page = await open(undefined, "/sign-in");
  await signIn(page, userinfo, subject);
  await expect(page).toHaveURL(/\/o\/acme$/);
  expect(await whoAmI(page)).toBe("Uma Userinfo");
});

test("from the second time on, issuer and subject identify the person", async ({ open }) => {
  const email = await addMember("Ivo First");
  const other = await addMember("Other Person");
  const subject = addAccount(example, email);
  const first = await open(undefined, "/sign-in");
  await signIn(first, example, subject);
  await expect(first).toHaveURL(/\/o\/acme$/);
  // The address of the account has changed, and then belongs to another member: it does not count any more.
  for (const account of [{}, { email: other, email_verified: true }, { email: other, email_verified: false }]) {
    example.accounts.set(subject, account);
    const again = await open(undefined, "/sign-in");
    await signIn(again, example, subject);
    await expect(again).toHaveURL(/\/o\/acme$/);
    expect(await whoAmI(again)).toBe("Ivo First");
  }
  // The provider has assigned the same e-mail address to another account.
  const successor = await open(undefined, "/sign-in");
  await signIn(successor, example, addAccount(example, email));
  await expectRefused(successor);
});

test("an address that the provider has not verified is refused, and so is a stranger", async ({ open }) => {
  for (const provider of [example, userinfo]) {
    const unverified = await open(undefined, "/sign-in");
    await signIn(unverified, provider, addAccount(provider, await addMember("Never Verified"), false));
    await expectRefused(unverified);
    const stranger = await open(undefined, "/sign-in");
    await signIn(stranger, provider, addAccount(provider, `${randomUUID()}@elsewhere.test`));
    await expectRefused(stranger);
  }
});

test("a provider that has replaced its keys still signs members in", async ({ open, stack }) => {
  const subject = addAccount(example, await addMember("Kira Keys"));
  const before = await open(undefined, "/sign-in");
  await signIn(before, example, subject);
  await expect(before).toHaveURL(/\/o\/acme$/);
  await example.close();
  await example.listen(stack.dashboard, true);
  const after = await open(undefined, "/sign-in");
  await signIn(after, example, subject);
  await expect(after).toHaveURL(/\/o\/acme$/);
});

test("a person who cancels at the provider reads that nobody was signed in", async ({ open }) => {
  const page = await open(undefined, "/sign-in");
  await page.getByRole("link", { name: "Sign in with Example", exact: true }).click();
  await page.getByRole("link", { name: /Cancel/ }).click();
  await expectRefused(page);
});

test("state, nonce and PKCE are sent, differ each time, and belong together", async ({ open }) => {
  const subject = addAccount(example, await addMember("Pia Parameters"));
  const seen: Record<string, string>[] = [];
  for (let round = 0; round < 2; round += 1) {
    const page = await open(undefined, "/sign-in");
    const back = page.waitForRequest(/\/auth\/oidc\/example\/callback\?/);
    await signIn(page, example, subject);
    const returned = new URL((await back).url()).searchParams;
    await expect(page).toHaveURL(/\/o\/acme$/);
    const asked = example.newest("/auth");
    const exchanged = example.newest("/token");
    expect(asked).toMatchObject({ response_type: "code", code_challenge_method: "S256", client_id: "greenroom" });
    expect(asked.scope?.split(" ").sort()).toEqual(["email", "openid"]);
    expect(exchanged.grant_type).toBe("authorization_code");
    const challenge = createHash("sha256")
      .update(exchanged.code_verifier ?? "")
      .digest("base64url");
    expect(challenge).toBe(asked.code_challenge);
    expect(returned.get("state")).toBe(asked.state);
    expect(returned.get("iss")).toBe(example.settings.issuer);
    seen.push(asked);
  }
  for (const name of ["state", "nonce", "code_challenge"]) {
    expect(seen[0]?.[name]).toMatch(/^[\w-]{16,}$/);
    expect(seen[0]?.[name]).not.toBe(seen[1]?.[name]);
  }
});

for (const name of ["state", "nonce", "code_challenge"]) {
  test(`a sign-in whose ${name} was replaced on the way is refused`, async ({ open }) => {
    const subject = addAccount(example, await addMember("Mallory's Victim"));
    const page = await open(undefined, "/sign-in");
    const started = await page.request.get("/api/v1/auth/oidc/example/start", { maxRedirects: 0 });
    const address = new URL(started.headers().location ?? "");
    expect(address.searchParams.get(name)).toBeTruthy();
    address.searchParams.set(name, createHash("sha256").update("of the attacker").digest("base64url"));
    await page.goto(address.href);
    await logIn(page, subject);
    await expectRefused(page);
  });
}

test("the way back works once, and only in the browser that has begun", async ({ open }) => {
  const subject = addAccount(example, await addMember("Rita Replay"));
  const attacker = await open(undefined, "/sign-in");
  // The attacker does not open the callback URL, and sends it to another person instead.
  const stopped = await stopBefore(attacker, "*/auth/oidc/example/callback*");
  await signIn(attacker, example, subject);
  const address = await stopped.address;
  expect(address).toContain("code=");
  const begun = await attacker.context().cookies();
  const victim = await open(undefined, "/sign-in");
  await victim.goto(address);
  await expectRefused(victim);
  // In its own browser the same address still works, and then never again.
  await attacker.goto(address);
  await expect(attacker).toHaveURL(/\/o\/acme$/);
  await attacker.context().clearCookies();
  await attacker.context().addCookies(begun);
  await attacker.goto(address);
  await expectRefused(attacker);
});

test("the provider receives no cookie of the dashboard, and the address of no page", async ({ open }) => {
  const subject = addAccount(example, await addMember("Cora Cookie"));
  const page = await open(undefined, "/sign-in");
  await signIn(page, example, subject);
  await expect(page).toHaveURL(/\/o\/acme$/);
  await page.goto(`${example.settings.issuer}/.well-known/openid-configuration`);
  expect(example.received.length).toBeGreaterThan(5);
  for (const { cookie } of example.received) expect(cookie).not.toContain("__Host-");
});
