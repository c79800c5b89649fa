// The thread of `stalls.ts`: sleeps again and again, and records whenever it was woken too late. A thread, because the event
// loop of the tests is late for reasons of its own.
import { parentPort, workerData } from "node:worker_threads";

const { sleepMs, minStallMs, capacity, count, times } = workerData;
/** Never notified. */
const gate = new Int32Array(new SharedArrayBuffer(4));
const now = () => Number(process.hrtime.bigint()) / 1e6;

parentPort.postMessage("recording");
for (;;) {
  const due = now() + sleepMs;
  Atomics.wait(gate, 0, 0, sleepMs);
  const woken = now();
  if (woken - due <= minStallMs) continue;
  const index = Atomics.load(count, 0) % capacity;
  times[2 * index] = due;
  times[2 * index + 1] = woken;
  Atomics.add(count, 0, 1);
}
