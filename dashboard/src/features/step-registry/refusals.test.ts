import { expect, test } from "vitest";
import type { Event } from "@/api/types";
import { problemsOf, refusalsOf } from "./refusals";

function event(type: string, subject: string, data: unknown): Event {
  return { id: "evt_1", type, subject, time: "2026-11-17T10:00:00Z", data } as unknown as Event;
}

test("each line of the error is a problem, of a tag or of the whole registry", () => {
  const error =
    "roll-out/v2.0.0-rc.1: step.yaml, line 3, column 5: an input needs a `type`\nthe registry did not respond: check its address";
  expect(problemsOf({ status: "degraded", error })).toEqual([
    { tag: "roll-out/v2.0.0-rc.1", text: "step.yaml, line 3, column 5: an input needs a `type`" },
    { tag: undefined, text: "the registry did not respond: check its address" },
  ]);
});

test("an error of the past is not shown", () => {
  expect(problemsOf({ status: "disabled", error: "the registry did not respond" })).toEqual([]);
  expect(problemsOf({ status: "degraded", error: null })).toEqual([]);
});

test("refusals of other registries are left out", () => {
  const data = { reason: "the tag was moved", after: { tag: "roll-out/v1.0.0", version: "1.0.0" } };
  const other = event("step.tag_moved", "step-registries/reg_10/steps/roll-out", data);
  const own = event("step.tag_moved", "step-registries/reg_1/steps/roll-out", data);
  const at = Date.parse("2026-11-17T10:00:00Z");
  expect(refusalsOf("reg_1", [other, own])).toEqual([
    { id: "evt_1", tag: "roll-out/v1.0.0", kind: "moved", reason: "the tag was moved", at },
  ]);
});

test("an event without details is listed by the name of its step", () => {
  const bare = event("step.signature_refused", "step-registries/reg_1/steps/scan", null);
  expect(refusalsOf("reg_1", [bare])[0]).toMatchObject({ tag: "scan", kind: "signature", reason: "" });
});
