// What several tests do on a page.
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";

/** Runs axe, and fails if it finds something serious or critical. The figures of the run count both. */
export async function expectAccessible(page: Page, name: string, rules?: string[]): Promise<void> {
  // Colors in the middle of a transition have less contrast than before and after it, and a message may begin to fade out
  // meanwhile. With reduced motion there are no transitions.
  await page.emulateMedia({ reducedMotion: "reduce" });
  const axe = new AxeBuilder({ page });
  const { violations } = await (rules ? axe.withRules(rules) : axe).analyze();
  await page.emulateMedia({ reducedMotion: null });
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  if (!rules) test.info().annotations.push({ type: "screen", description: name });
  test.info().annotations.push({ type: "axe-serious", description: String(serious.length) });
  const found = serious.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
  expect.soft(found, `axe on ${name}`).toEqual([]);
}

/** No part of the page is wider than the screen. */
export async function expectNoSidewaysScroll(page: Page, name: string): Promise<void> {
  // Not `window.innerWidth`: phones zoom out until the widest part fits, and it grows with that part.
  const screen = page.viewportSize()?.width ?? 0;
  const excess = (await page.evaluate(() => document.documentElement.scrollWidth)) - screen;
  expect.soft(excess, `sideways scroll on ${name}`).toBeLessThanOrEqual(0);
}
