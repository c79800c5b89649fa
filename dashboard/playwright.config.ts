// The tests in a browser, against the real stack. `cargo xtask ui` starts the stack and sets the variables that
// `e2e/support/stack.ts` reads.
import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  globalSetup: ["./e2e/support/cleanUp.ts", "./e2e/support/signIn.ts"],
  globalTeardown: "./e2e/support/cleanUp.ts",
  // One worker: two browsers act on the same environments, and the machine of CI has two cores.
  workers: 1,
  timeout: 30_000,
  expect: { timeout: 8_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"], ["./e2e/support/reporter.ts"]],
  use: {
    baseURL: process.env.GREENROOM_DASHBOARD_URL,
    viewport: { width: 1440, height: 900 },
    locale: "en-GB",
    timezoneId: "UTC",
    // A trace slows every page down, so it is made only when a failed test is repeated.
    trace: "on-first-retry",
    launchOptions: {
      executablePath: process.env.GREENROOM_CHROMIUM ?? "/usr/bin/chromium",
      // Chromium refuses to run with its sandbox as root, as in containers of CI.
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    },
  },
});
