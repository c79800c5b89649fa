// Finds the moments at which the machine stood still, so that budgets of seconds leave them out: a thread sleeps for 5 ms
// again and again, and records whenever it was woken more than 20 ms too late.
// `e2e/src/parts/stalls.rs` does the same for fault campaigns.
import { once } from "node:events";
import { Worker } from "node:worker_threads";

const SLEEP_MS = 5;
const MIN_STALL_MS = 20;
/** The thread keeps so many stalls, the latest ones. */
const CAPACITY = 4_096;
/** An assertion is not repeated if less time than this is left. */
const MIN_TIMEOUT_MS = 10;

/** Milliseconds of a clock that all threads share and that is never set. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;

export type Stalls = {
  /** How many milliseconds between two moments of `now` were stalled. */
  between: (from: number, to: number) => number;
};

let recorded: Stalls = { between: () => 0 };

/** Starts the thread of this process, and waits until it records. Returns a function that ends it. */
export async function startRecording(): Promise<() => Promise<number>> {
  const count = new Int32Array(new SharedArrayBuffer(4));
  const times = new Float64Array(new SharedArrayBuffer(CAPACITY * 16));
  const workerData = { sleepMs: SLEEP_MS, minStallMs: MIN_STALL_MS, capacity: CAPACITY, count, times };
  const thread = new Worker(new URL("./stallThread.mjs", import.meta.url), { workerData });
  await once(thread, "message");
  thread.unref();
  recorded = {
    between: (from, to) => {
      let stalled = 0;
      for (let index = Math.min(Atomics.load(count, 0), CAPACITY) - 1; index >= 0; index -= 1) {
        const [due = 0, woken = 0] = times.subarray(2 * index, 2 * index + 2);
        stalled += Math.max(0, Math.min(woken, to) - Math.max(due, from));
      }
      return stalled;
    },
  };
  return () => thread.terminate();
}

/** The stalls of this process. There are none before `startRecording`. */
export const stalls: Stalls = { between: (from, to) => recorded.between(from, to) };

/** Milliseconds since a moment of `now`, without those in which the machine stood still. */
export function elapsedSince(from: number): number {
  const to = now();
  return to - from - stalls.between(from, to);
}

/**
 * Expects that an assertion holds within some milliseconds, in which the machine did not stand still: what a stall has
 * taken from the timeout is added to it.
 */
export async function within(
  milliseconds: number,
  assertion: (options: { timeout: number }) => Promise<unknown>,
): Promise<void> {
  const from = now();
  for (let timeout = milliseconds; ;) {
    try {
      await assertion({ timeout });
      return;
    } catch (error) {
      timeout = Math.round(milliseconds - elapsedSince(from));
      if (timeout < MIN_TIMEOUT_MS) throw error;
    }
  }
}
