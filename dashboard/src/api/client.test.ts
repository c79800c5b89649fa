import { expect, test, vi } from "vitest";
import { change, unwrap } from "./client";
import { Problem } from "./problem";

const noWait = () => Promise.resolve();
const unavailable = () => new Problem(503, { code: "database_unavailable" });

test("a change whose result is unknown is repeated with the same key", async () => {
  const keys: string[] = [];
  const result = await change(async (headers) => {
    keys.push(headers["Idempotency-Key"]);
    if (keys.length < 3) throw unavailable();
    return "done";
  }, noWait);
  expect(result).toBe("done");
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
});

test("a change is sent three times at most", async () => {
  const send = vi.fn(() => Promise.reject(unavailable()));
  await expect(change(send, noWait)).rejects.toMatchObject({ code: "database_unavailable" });
  expect(send).toHaveBeenCalledTimes(3);
});

test("a refusal is not repeated", async () => {
  const send = vi.fn(() => Promise.reject(new Problem(409, { code: "environment_locked" })));
  await expect(change(send, noWait)).rejects.toMatchObject({ kind: "locked" });
  expect(send).toHaveBeenCalledTimes(1);
});

test("a repetition waits as long as the server asks for", async () => {
  const waits: number[] = [];
  const send = vi.fn(() => Promise.reject(new Problem(503, { code: "database_unavailable" }, 7)));
  await expect(change(send, async (time) => void waits.push(time))).rejects.toThrow();
  expect(waits).toEqual([7_000, 7_000]);
});

test("a failed response is thrown as a problem", async () => {
  const response = new Response(null, { status: 404 });
  const call = Promise.resolve({ error: { code: "not_found", requestId: "req_1" }, response });
  await expect(unwrap(call)).rejects.toMatchObject({ kind: "missing", requestId: "req_1" });
});

test("a canceled request stays a canceled request", async () => {
  const call = Promise.reject(new DOMException("", "AbortError"));
  await expect(unwrap(call)).rejects.toMatchObject({ name: "AbortError" });
});
