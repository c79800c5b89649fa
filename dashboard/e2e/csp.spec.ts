// The content security policy: it is sent, it forbids what it has to, and no screen or overlay breaks it. Every
// other test also fails if a page reports a violation.
import { expect, settled, test } from "./support/fixtures";
import { screensOf } from "./support/screens";

test("every page is sent with the policy", async ({ open, stack }) => {
  const page = await open(undefined, "/sign-in");
  const response = await page.request.get(`${stack.dashboard}/o/${stack.org}`);
  const policy = response.headers()["content-security-policy"] ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("require-trusted-types-for 'script'");
  expect(policy).not.toContain("unsafe");
  expect(response.headers()["x-content-type-options"]).toBe("nosniff");
});

test("no screen breaks the policy, and none keeps a secret in storage or in its address", async ({
  open,
  stack,
  api,
}) => {
  test.setTimeout(240_000);
  const screens = (await screensOf(stack, api)).filter(({ person }) => person === "developer" || !person);
  const page = await open("developer", "/");
  for (const { path } of screens) {
    await page.goto(path);
    await settled(page);
    const kept = await page.evaluate(() =>
      [...Object.values(localStorage), ...Object.values(sessionStorage)].join(" "),
    );
    expect(kept).not.toMatch(/grn_|__Host/);
    expect(page.url()).not.toMatch(/grn_/);
  }
  expect(await page.evaluate(() => document.cookie)).toBe("");
});

test("a script that is injected into the page does not run", async ({ browser, stack }) => {
  const page = await browser.newPage({ baseURL: stack.dashboard });
  await page.goto("/sign-in");
  const outcome = await page.evaluate(() => {
    try {
      const element = document.createElement("div");
      element.innerHTML = "<img src=x onerror=alert(1)>";
      return "ran";
    } catch {
      return "refused";
    }
  });
  expect(outcome).toBe("refused");
  await page.close();
});
