// Measurements, by command only: GREENROOM_PERF=1, for GREENROOM_PERF_SECONDS (60). A board with 500 environments
// and 50 events per second: long tasks, frames, event to pixel, requests per event, heap.
import { type Api, createPipeline, type TestPipeline } from "./support/api";
import { percentile, report } from "./support/figures";
import { heapOf, settled, test } from "./support/fixtures";
import { now, stalls } from "./support/stalls";

const ENVIRONMENTS = 500;
/** Each takes an environment over by force, which ends one session and starts another: two events. */
const TAKE_OVERS_PER_SECOND = 25;
const EVENTS_PER_TAKE_OVER = 2;
const CONCURRENCY = 20;
const WARM_UP = (ENVIRONMENTS / TAKE_OVERS_PER_SECOND) * 1_000;
const SECONDS = Number(process.env.GREENROOM_PERF_SECONDS ?? 60);

test.skip(process.env.GREENROOM_PERF !== "1", "GREENROOM_PERF is not 1");

const name = (index: number) => `e-${String(index).padStart(3, "0")}`;

/** Takes environments over in turn, at a fixed rate. Returns when each one changed, by its name. */
async function change(pipeline: TestPipeline, until: number, first = 0): Promise<Map<string, number[]>> {
  const changes = new Map<string, number[]>();
  const pending = new Set<Promise<void>>();
  for (let index = first; Date.now() < until; index += 1) {
    const env = name(index % ENVIRONMENTS);
    const person = Math.floor(index / ENVIRONMENTS) % 2 === 0 ? "maintainer" : "secondDeveloper";
    const takeOver = async () => {
      await pipeline.api.send(person, "POST", `${pipeline.environment(env)}/force-claim`, { context: "measurement" });
      changes.set(env, [...(changes.get(env) ?? []), Date.now()]);
    };
    const running = takeOver().catch(() => undefined);
    pending.add(running);
    void running.then(() => pending.delete(running));
    if (pending.size > CONCURRENCY) await Promise.race(pending);
    await new Promise((resolve) => setTimeout(resolve, 1_000 / TAKE_OVERS_PER_SECOND));
  }
  await Promise.all(pending);
  return changes;
}

/** A definition has 100 environments at most, so the 500 are made from a template. They are listed while held. */
async function createBoard(api: Api): Promise<TestPipeline> {
  const pipeline = await createPipeline(api, '  "e-*":\n    max: 1000\n    stages: [deploy]');
  for (let first = 0; first < ENVIRONMENTS; first += CONCURRENCY) {
    const names = Array.from({ length: CONCURRENCY }, (_, index) => name(first + index));
    await Promise.all(names.map((env) => pipeline.claim("secondDeveloper", env)));
  }
  return pipeline;
}

/** A time, by its end in milliseconds since 1970 and its length. */
type Span = [end: number, length: number];
type Measured = { longTasks: Span[]; frames: Span[]; seen: [env: string, at: number][] };

test("a board with 500 environments stays smooth", async ({ open, stack, api }) => {
  test.setTimeout((SECONDS + 240) * 1_000);
  const pipeline = await createBoard(api);
  const page = await open("developer", `/o/${stack.org}/pipelines/${pipeline.slug}`);
  await settled(page);
  // Warm-up: every environment changes once, and all chunks are prefetched.
  await change(pipeline, Date.now() + WARM_UP);
  await page.evaluate(() => {
    const measured: Measured = { longTasks: [], frames: [], seen: [] };
    (window as unknown as { measured: Measured }).measured = measured;
    new PerformanceObserver((list) => {
      for (const { startTime, duration } of list.getEntries()) {
        measured.longTasks.push([performance.timeOrigin + startTime + duration, duration]);
      }
    }).observe({ type: "longtask" });
    let last = performance.now();
    const frame = (now: number) => {
      measured.frames.push([performance.timeOrigin + now, now - last]);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    const texts = new Map<string, string>();
    new MutationObserver(() => {
      for (const row of document.querySelectorAll<HTMLElement>("[data-env]")) {
        const holder = row.querySelector("[title]")?.textContent ?? "";
        const env = row.dataset.env ?? "";
        if (texts.has(env) && texts.get(env) !== holder) measured.seen.push([env, Date.now()]);
        texts.set(env, holder);
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  let requests = 0;
  page.on("request", (request) => {
    if (request.url().includes("/api/")) requests += 1;
  });
  const heapBefore = await heapOf(page);
  const changes = await change(pipeline, Date.now() + SECONDS * 1_000, ENVIRONMENTS);
  const heapAfter = await heapOf(page);
  const measured = await page.evaluate(() => (window as unknown as { measured: Measured }).measured);
  const events = [...changes.values()].flat().length * EVENTS_PER_TAKE_OVER;
  // What overlaps a stall of the machine is left out. The clock of stalls and the one of the page run equally fast.
  const ahead = Date.now() - now();
  const isUndisturbed = ([end, length]: Span) => stalls.between(end - length - ahead, end - ahead) === 0;
  const longTasks = measured.longTasks.filter(isUndisturbed).map(([, length]) => length);
  const frames = measured.frames.filter(isUndisturbed).map(([, length]) => length);
  const spans = measured.seen.flatMap(([env, at]): Span[] => {
    const cause = (changes.get(env) ?? []).filter((time) => time <= at + 50).at(-1);
    return cause === undefined ? [] : [[at, Math.max(0, at - cause)]];
  });
  const delays = spans.filter(isUndisturbed).map(([, length]) => length);
  const figures = {
    seconds: SECONDS,
    eventsPerSecond: Number((events / SECONDS).toFixed(1)),
    longTasks: longTasks.filter((length) => length > 50).length,
    longestTask: Math.round(Math.max(0, ...longTasks)),
    framesOver20ms: Number((frames.filter((length) => length > 20).length / frames.length).toFixed(3)),
    eventToPixelP95: percentile(delays, 0.95),
    seen: delays.length,
    leftOut: spans.length - delays.length,
    requestsPerEvent: Number((requests / events).toFixed(3)),
    heapBefore,
    heapAfter,
    heapGrowth: Number(((heapAfter - heapBefore) / heapBefore).toFixed(3)),
  };
  report(figures, { requestsPerEvent: 0.1, eventToPixelP95: 300, longTasks: 0, framesOver20ms: 0.05, heapGrowth: 0.1 });
});
