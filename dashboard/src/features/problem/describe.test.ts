import { expect, test } from "vitest";
import { change } from "@/api/client";
import { Problem } from "@/api/problem";
import { describe } from "./describe";

const detail = "It is not known whether the request was carried out; repeat it with the same Idempotency-Key";
const unavailable = () => new Problem(503, { code: "database_unavailable", detail });

test("a read that failed is not asked to be repeated with a key", () => {
  const { title, text } = describe(unavailable());
  expect(title).toMatch(/can't answer/);
  expect(`${title} ${text}`).not.toMatch(/known|key/i);
});

test("of a change it is not known whether it happened, and the key is the dashboard's business", async () => {
  const failed: unknown = await change(
    () => Promise.reject(unavailable()),
    () => Promise.resolve(),
  ).catch((error: unknown) => error);
  const { title, text } = describe(failed);
  expect(title).toBe("Not known whether it happened");
  expect(text).toMatch(/Look whether it happened/);
  expect(text).not.toMatch(/key/i);
});

test("a refusal is explained by the server", () => {
  expect(describe(new Problem(422, { code: "invalid_request", detail: "too long" })).text).toBe("too long");
  expect(describe(new Problem(404, { code: "not_found", detail: "Check the ids" })).text).not.toMatch(/ids/);
});
