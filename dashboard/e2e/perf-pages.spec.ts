// Measurements of every screen with a processor that is four times slower, by command only: GREENROOM_PERF=1. The
// largest paint, the shifts of the layout, and the time from an interaction to the next frame.
import type { Page } from "@playwright/test";
import { Api, createPipeline, environmentsOf } from "./support/api";
import { percentile, report } from "./support/figures";
import { expect, settled, test } from "./support/fixtures";
import { screensOf } from "./support/screens";
import { now, stalls } from "./support/stalls";

const SLOWED = 4;

test.skip(process.env.GREENROOM_PERF !== "1", "GREENROOM_PERF is not 1");

type Measured = { paint: number; shift: number; interactions: Record<string, number> };
type Shift = PerformanceEntry & { value: number; hadRecentInput: boolean };
type Interaction = PerformanceEntry & { interactionId: number };

async function slow(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWED });
  await page.addInitScript(() => {
    const measured: Measured = { paint: 0, shift: 0, interactions: {} };
    (window as unknown as { measured: Measured }).measured = measured;
    const observe = (options: PerformanceObserverInit & { durationThreshold?: number }, add: (entry: never) => void) =>
      new PerformanceObserver((list) => list.getEntries().forEach((entry) => add(entry as never))).observe(options);
    observe({ type: "largest-contentful-paint", buffered: true }, (entry: PerformanceEntry) => {
      measured.paint = entry.startTime;
    });
    observe({ type: "layout-shift", buffered: true }, (entry: Shift) => {
      if (!entry.hadRecentInput) measured.shift += entry.value;
    });
    observe({ type: "event", durationThreshold: 16, buffered: true }, (entry: Interaction) => {
      if (entry.interactionId === 0) return;
      // A click is several events; the slowest of them counts.
      const longest = measured.interactions[entry.interactionId] ?? 0;
      measured.interactions[entry.interactionId] = Math.max(longest, entry.duration);
    });
  });
}

const measuredOf = (page: Page): Promise<Measured> =>
  page.evaluate(() => (window as unknown as { measured: Measured }).measured);

test("every screen is painted early and keeps its place", async ({ open, stack, api }) => {
  test.setTimeout(600_000);
  const paints: number[] = [];
  const shifts: number[] = [];
  const screens = await screensOf(stack, api);
  // The page of components is for developers, and shows placeholders on purpose.
  for (const { name, person, path } of screens.filter((screen) => screen.name !== "components")) {
    const page = await open(person, "/sign-in");
    await slow(page);
    const from = now();
    await page.goto(path);
    await settled(page);
    const stalled = stalls.between(from, now());
    await page.waitForTimeout(2_000);
    const measured = await measuredOf(page);
    const [paint, shift] = [Math.max(0, measured.paint - stalled), measured.shift];
    console.log(JSON.stringify({ name, paint: Math.round(paint), shift: Number(shift.toFixed(3)) }));
    paints.push(Math.round(paint));
    shifts.push(Number(shift.toFixed(3)));
    await page.context().close();
  }
  report(
    { screens: paints.length, largestPaint: Math.max(...paints), largestShift: Math.max(...shifts) },
    { largestPaint: 2_500, largestShift: 0.05 },
  );
});

test("interactions are answered within a few frames", async ({ open, stack, api }) => {
  test.setTimeout(120_000);
  const names = Array.from({ length: 20 }, (_, index) => `qa-${index + 1}`);
  const pipeline = await createPipeline(new Api(stack), environmentsOf(names));
  for (const env of names.slice(0, 5)) await pipeline.claim("developer", env);
  const page = await open("developer", "/sign-in");
  await slow(page);
  await page.goto(`/o/${stack.org}/pipelines/${pipeline.slug}`);
  await settled(page);
  await page.waitForTimeout(3_000);
  const interactions: number[] = [];
  for (const env of names.slice(5, 15)) {
    const card = page.locator(`[data-env="${env}"]`);
    await card.getByRole("button", { name: /^Claim/ }).click();
    await page.getByLabel("What for?").pressSequentially("a test", { delay: 30 });
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toBeHidden();
  }
  await page
    .getByRole("searchbox")
    .or(page.locator("input[type=text]"))
    .first()
    .pressSequentially("qa-1", { delay: 60 });
  interactions.push(...Object.values((await measuredOf(page)).interactions));
  // A log: open it, scroll, find.
  const deployments = await api.get<{ id: string; status: string }[]>("/deployments?limit=50");
  const failed = deployments.find(({ status }) => status === "failed") ?? deployments[0];
  await page.goto(`/o/${stack.org}/deployments/${failed?.id}`);
  await settled(page);
  await page.getByLabel(/Find in the log/).pressSequentially("error", { delay: 60 });
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  for (const label of [/^Environments/, /^Pipelines/, /^Deployments/]) {
    await page.getByRole("navigation").getByRole("link", { name: label }).first().click({ timeout: 10_000 });
    await settled(page);
  }
  interactions.push(...Object.values((await measuredOf(page)).interactions));
  report(
    {
      interactions: interactions.length,
      interactionP95: percentile(interactions, 0.95),
      longestInteraction: Math.max(...interactions),
    },
    { interactionP95: 200 },
  );
});
