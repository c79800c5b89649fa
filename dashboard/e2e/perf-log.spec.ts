// Measurements of the log viewer, by command only: GREENROOM_PERF=1. A log of 100,000 lines: open, jump, find, fling,
// heap; and a log that grows by 5,000 lines a second while it is followed.
import type { Locator, Page } from "@playwright/test";
import { Api, createPipeline, environmentsOf, type TestPipeline } from "./support/api";
import { COMMIT, deploy } from "./support/deploy";
import { report } from "./support/figures";
import { expect, heapOf, test } from "./support/fixtures";
import { stackOf } from "./support/stack";
import { elapsedSince, now, stalls } from "./support/stalls";

const LINES = 100_000;
/** As long as a line of a real log: the whole is about 14 MB, which is read in parts. */
const PADDING = "0123456789abcdef".repeat(8);
const FLING = 10_000;
/** In pixels per second. Chromium stops a fling of a finger at about this speed. */
const FLING_SPEED = 8_000;
const FOLLOWED_SECONDS = 20;
const LINES_PER_SECOND = 5_000;

test.skip(process.env.GREENROOM_PERF !== "1", "GREENROOM_PERF is not 1");

async function logOf(open: (path: string) => Promise<Page>, api: Api, at: TestPipeline, org: string): Promise<Page> {
  const { id, status } = await deploy(api, at, "qa-1");
  expect(status).toBe("succeeded");
  return open(`/o/${org}/deployments/${id}?stage=deploy`);
}

/**
 * Milliseconds until the text is in the document, by `requestAnimationFrame`, without the latency of Playwright and without
 * the time in which the machine stood still.
 */
async function shown(page: Page, act: () => Promise<void>, text: string): Promise<number> {
  const from = now();
  const seen = page.evaluate(
    (wanted) =>
      new Promise<number>((resolve) => {
        const began = performance.now();
        const look = () => {
          const log = document.querySelector("[role=log]");
          if (log?.textContent?.includes(wanted)) resolve(performance.now() - began);
          else requestAnimationFrame(look);
        };
        look();
      }),
    text,
  );
  await act();
  const took = await seen;
  return Math.round(Math.max(0, took - stalls.between(from, now())));
}

/** Scrolls by touch for ten seconds, as fast as a strong fling. Returns the share of frames without a line in view. */
async function fling(page: Page, log: Locator): Promise<number> {
  const box = await log.boundingBox();
  if (!box) throw new Error("the log is not in view");
  const session = await page.context().newCDPSession(page);
  const blank = log.evaluate(
    (element, duration) =>
      new Promise<number>((resolve) => {
        const began = performance.now();
        let frames = 0;
        let blanks = 0;
        const frame = () => {
          if (performance.now() - began > duration) return resolve(blanks / frames);
          const { top, bottom } = element.getBoundingClientRect();
          const isInView = [...element.querySelectorAll("[data-line]")].some((row) => {
            const at = row.getBoundingClientRect();
            return at.bottom > top && at.top < bottom && (row.textContent ?? "").length > 8;
          });
          frames += 1;
          if (!isInView) blanks += 1;
          requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
      }),
    FLING,
  );
  await session.send("Input.synthesizeScrollGesture", {
    x: box.x + box.width / 2,
    y: box.y + box.height / 2,
    yDistance: -(FLING / 1_000) * FLING_SPEED,
    speed: FLING_SPEED,
    preventFling: true,
  });
  return Number((await blank).toFixed(3));
}

for (const [name, padding] of [
  ["short lines", ""],
  ["lines of 140 characters", ` ${PADDING}`],
] as const) {
  test(`a log of 100,000 ${name}`, async ({ open, stack, api }) => {
    test.setTimeout(240_000);
    const script = `seq -f "line %.0f of the log${padding}" 1 ${LINES}`;
    const pipeline = await createPipeline(new Api(stackOf()), environmentsOf(["qa-1"]), script);
    const page = await logOf((path) => open("developer", path), api, pipeline, stack.org);
    const log = page.getByRole("log");
    await expect(log.getByText("line 1 of the log")).toBeVisible();
    const began = now();
    await page.reload({ waitUntil: "commit" });
    await expect(log.getByText("line 1 of the log")).toBeVisible();
    const opened = Math.round(elapsedSince(began));
    const jump = () => log.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    const jumped = await shown(page, jump, `line ${LINES} of the log`);
    const find = async () => {
      await page.getByLabel(/Find in the log/).fill("line 77777 of");
      await page.keyboard.press("Enter");
    };
    const found = await shown(page, find, "line 77777 of the log");
    const blank = await fling(page, log);
    const heap = await heapOf(page);
    report(
      { opened, jumped, found, blankFrames: blank, heapMiB: heap },
      { opened: 2_000, jumped: 300, found: 1_000, blankFrames: 0, heapMiB: 150 },
    );
  });
}

test("a log that grows by 5,000 lines a second is followed", async ({ open, stack, api }) => {
  test.setTimeout(180_000);
  const tenth = LINES_PER_SECOND / 10;
  const script = `for tick in $(seq 1 ${FOLLOWED_SECONDS * 10}); do seq -f "tick $tick line %.0f" 1 ${tenth}; sleep 0.09; done; sleep 5`;
  const pipeline = await createPipeline(new Api(stackOf()), environmentsOf(["qa-1"]), script);
  const session = await pipeline.claim("developer", "qa-1", { commitId: COMMIT });
  const read = () =>
    api.get<{ deployments: { id: string }[] }>(`${pipeline.environment("qa-1")}/sessions/${session.sessionId}`);
  await expect.poll(async () => (await read()).deployments[0]?.id, { timeout: 20_000 }).toBeTruthy();
  const id = (await read()).deployments[0]?.id;
  const page = await open("developer", `/o/${stack.org}/deployments/${id}?stage=deploy`);
  const log = page.getByRole("log");
  await expect(log.getByText(/tick \d+ line/).first()).toBeVisible({ timeout: 30_000 });
  const measured = await log.evaluate(
    (element) =>
      new Promise<{ longTasks: number; lines: number; seconds: number; behind: number }>((resolve) => {
        let longTasks = 0;
        const observer = new PerformanceObserver((list) => {
          longTasks += list.getEntries().filter(({ duration }) => duration > 50).length;
        });
        observer.observe({ type: "longtask" });
        const last = () => Number([...element.querySelectorAll("[data-line]")].at(-1)?.getAttribute("data-line") ?? 0);
        const began = performance.now();
        const first = last();
        let behind = 0;
        const timer = setInterval(() => {
          // A followed log is scrolled to its end.
          const distance = element.scrollHeight - element.scrollTop - element.clientHeight;
          behind = Math.max(behind, distance);
        }, 250);
        setTimeout(() => {
          clearInterval(timer);
          resolve({ longTasks, lines: last() - first, seconds: (performance.now() - began) / 1_000, behind });
        }, 10_000);
      }),
  );
  await expect(log.getByText(`tick ${FOLLOWED_SECONDS * 10} line ${tenth}`, { exact: true })).toBeVisible({
    timeout: 40_000,
  });
  report(
    {
      linesPerSecond: Math.round(measured.lines / measured.seconds),
      longTasks: measured.longTasks,
      pixelsBehind: Math.round(measured.behind),
      heapMiB: await heapOf(page),
    },
    { heapMiB: 150 },
  );
  expect.soft(measured.lines / measured.seconds).toBeGreaterThanOrEqual(LINES_PER_SECOND);
});
