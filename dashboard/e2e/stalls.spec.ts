// The stalls that budgets of seconds leave out are real ones, and nothing else is left out.
import { spawn } from "node:child_process";
import { expect, test } from "./support/fixtures";
import { elapsedSince, now, stalls, within } from "./support/stalls";

const STOPPED = 150;

/** Stops this process and its threads, as a machine does that stands still. */
function standStill(): void {
  const script = `kill -STOP ${process.pid}; sleep ${STOPPED / 1_000}; kill -CONT ${process.pid}`;
  spawn("sh", ["-c", script], { stdio: "ignore", detached: true }).unref();
}

/** An assertion that fails after its timeout, as those of Playwright do. */
const fails = ({ timeout }: { timeout: number }) =>
  new Promise<never>((_, reject) => setTimeout(() => reject(new Error(`not within ${timeout} ms`)), timeout));

test("a budget is extended by the time in which the machine stood still", async () => {
  const from = now();
  const timeouts: number[] = [];
  const failing = within(400, (options) => {
    timeouts.push(options.timeout);
    return fails(options);
  });
  standStill();
  await expect(failing).rejects.toThrow(/not within/);
  const stalled = stalls.between(from, now());
  expect(stalled, "milliseconds that were recorded").toBeGreaterThan(STOPPED / 2);
  expect(timeouts[0]).toBe(400);
  expect(timeouts.length, "attempts").toBeGreaterThan(1);
  expect(elapsedSince(from)).toBeGreaterThanOrEqual(380);
});

test("a budget ends, and an assertion that holds in time passes", async () => {
  const from = now();
  await expect(within(200, fails)).rejects.toThrow(/not within/);
  expect(elapsedSince(from)).toBeLessThan(400);
  await within(200, async () => undefined);
});
