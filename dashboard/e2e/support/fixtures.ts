// What every test gets: browsers of people, the API, and a check that no page broke the content security policy
// or threw an error.
import { test as base, expect, type Page } from "@playwright/test";
import { existsSync } from "node:fs";
import { Api } from "./api";
import { stateFile } from "./signIn";
import { type Person, type Stack, stackOf } from "./stack";
import { startRecording } from "./stalls";

export type Look = { width?: number; height?: number; theme?: "light" | "dark" };

type Fixtures = {
  stack: Stack;
  api: Api;
  /** Opens a browser of its own for a person. `undefined`: somebody who is not signed in. */
  open: (person: Person | undefined, path: string, look?: Look) => Promise<Page>;
};

/** Recorded from the start of the process that runs the tests. */
type WorkerFixtures = { recording: void };

export const test = base.extend<Fixtures, WorkerFixtures>({
  recording: [
    // oxlint-disable-next-line no-empty-pattern
    async ({}, give) => {
      const stop = await startRecording();
      await give();
      await stop();
    },
    { scope: "worker", auto: true },
  ],
  // oxlint-disable-next-line no-empty-pattern
  stack: async ({}, give) => give(stackOf()),
  api: async ({ stack }, give) => give(new Api(stack)),
  open: async ({ browser, stack }, give) => {
    const faults: string[] = [];
    const pages: Page[] = [];
    await give(async (person, path, { width = 1440, height = 900, theme = "light" } = {}) => {
      const isPhone = width < 600;
      const state = person && stateFile(person);
      const context = await browser.newContext({
        baseURL: stack.dashboard,
        viewport: { width, height },
        colorScheme: theme,
        hasTouch: isPhone,
        isMobile: isPhone,
        storageState: state && existsSync(state) ? state : undefined,
        // A server without sign-in links: the token takes the place of the cookie.
        extraHTTPHeaders:
          person && !stack.linkCommand ? { Authorization: `Bearer ${stack.tokens[person]}` } : undefined,
      });
      const page = await context.newPage();
      await watchFaults(page, faults);
      pages.push(page);
      await page.goto(path);
      return page;
    });
    for (const page of pages) await page.context().close();
    expect(faults, "reports of the content security policy, and errors").toEqual([]);
  },
});

/** Collects reports of the content security policy and uncaught errors. */
async function watchFaults(page: Page, faults: string[]): Promise<void> {
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
    });
  });
  page.on("pageerror", (error) => faults.push(`${page.url()}: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    const isPolicy = text.startsWith("policy:") || /Content Security Policy|TrustedScript|TrustedHTML/.test(text);
    if (message.type() === "error" && isPolicy) faults.push(`${page.url()}: ${text}`);
  });
}

/** Waits until the page shows its data: no placeholder is left, and the fonts are there. */
export async function settled(page: Page): Promise<void> {
  await expect(page.locator("h1, [role=alert]").first()).toBeVisible();
  // The page of components shows placeholders on purpose.
  if (!page.url().endsWith("/dev/ui")) await expect(page.locator("[data-skeleton]")).toHaveCount(0);
  await page.evaluate(() => document.fonts.ready);
}

/** The memory that the page uses after a garbage collection, in MiB. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return Number((usedSize / 1_048_576).toFixed(1));
}

export { expect };
