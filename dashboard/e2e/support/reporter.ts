// Writes the figures of a run as JSON to the file GREENROOM_UI_REPORT: `passed`, `failed`, `axeSerious`, `screens`,
// and in `flaky` the tests that passed only when they were repeated.
import type { FullResult, Reporter, TestCase, TestResult } from "@playwright/test/reporter";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export default class Figures implements Reporter {
  readonly #outcomes = new Map<string, { passed: boolean; title: string }>();
  readonly #screens = new Set<string>();
  readonly #flaky = new Set<string>();
  #axeSerious = 0;
  #skipped = 0;

  onTestEnd(test: TestCase, result: TestResult): void {
    if (result.status === "skipped") {
      this.#skipped += 1;
      return;
    }
    const title = test.titlePath().join(" > ");
    this.#outcomes.set(test.id, { passed: result.status === test.expectedStatus, title });
    if (test.outcome() === "flaky") this.#flaky.add(title);
    for (const { type, description } of result.annotations) {
      if (type === "screen" && description) this.#screens.add(description);
      if (type === "axe-serious") this.#axeSerious += Number(description);
    }
  }

  onEnd(result: FullResult): void {
    const outcomes = [...this.#outcomes.values()];
    const failures = outcomes.filter(({ passed }) => !passed).map(({ title }) => title);
    const figures = {
      passed: outcomes.length - failures.length,
      failed: failures.length,
      skipped: this.#skipped,
      axeSerious: this.#axeSerious,
      screens: this.#screens.size,
      complete: result.status === "passed" || result.status === "failed",
      failures,
      flaky: [...this.#flaky],
    };
    const file = process.env.GREENROOM_UI_REPORT;
    if (!file) return;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
  }

  printsToStdio(): boolean {
    return false;
  }
}
