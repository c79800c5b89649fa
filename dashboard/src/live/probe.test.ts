import { expect, test } from "vitest";
import { PROBE_INTERVAL, PROBE_TIMEOUT, watchServer } from "./probe";

/** Probes with these results, one after the other, and returns what was reported. */
async function watch(results: (() => Promise<boolean>)[], isHidden = () => false) {
  const stop = new AbortController();
  const reported: boolean[] = [];
  let probes = 0;
  const isReady = () => {
    const result = results[probes] ?? (() => Promise.resolve(true));
    probes += 1;
    return result();
  };
  let waits = 0;
  const wait = () => {
    waits += 1;
    if (waits > results.length) stop.abort();
    return Promise.resolve();
  };
  await watchServer((ready) => reported.push(ready), stop.signal, { isReady, isHidden, wait });
  return { reported, probes };
}

const ready = () => Promise.resolve(true);
const notReady = () => Promise.resolve(false);
const lost = () => Promise.reject(new TypeError("Failed to fetch"));

test("a change is reported once: a server that is not ready, and one that does not respond", async () => {
  expect((await watch([ready, notReady, lost, ready, ready])).reported).toEqual([false, true]);
  expect((await watch([lost])).reported).toEqual([false]);
});

test("a hidden tab does not ask", async () => {
  expect(await watch([lost, lost], () => true)).toEqual({ reported: [], probes: 0 });
});

test("a dead server is noticed within five seconds", () => {
  expect(PROBE_INTERVAL + PROBE_TIMEOUT).toBeLessThan(5_000);
});
