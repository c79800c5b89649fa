import { expect, test, vi } from "vitest";
import { loadAll, once } from "./lazily";

const wait = () => Promise.resolve();
const gone = new TypeError("Failed to fetch dynamically imported module");

test("an import is retried until the server responds", async () => {
  const load = vi.fn(() => Promise.resolve("part"));
  for (let failure = 0; failure < 5; failure += 1) load.mockRejectedValueOnce(gone);
  const part = once(load, { isReachable: () => Promise.resolve(false), wait });
  expect(await part()).toBe("part");
  expect(load).toHaveBeenCalledTimes(6);
});

test("an import of a file that an upgraded server no longer has is rejected", async () => {
  const load = vi.fn(() => Promise.reject(gone));
  const part = once(load, { isReachable: () => Promise.resolve(true), wait });
  await expect(part()).rejects.toBe(gone);
  expect(load).toHaveBeenCalledTimes(2);
});

test("all chunks are imported once, also those that an imported one registers", async () => {
  const inner = vi.fn(() => Promise.resolve("inner"));
  const outer = vi.fn(async () => {
    await Promise.resolve();
    once(inner);
    return "outer";
  });
  const part = once(outer);
  await loadAll(() => Promise.resolve());
  await part();
  expect(outer).toHaveBeenCalledTimes(1);
  expect(inner).toHaveBeenCalledTimes(1);
});
