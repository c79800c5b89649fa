import { expect, test } from "vitest";
import type { StepRun } from "@/api/types";
import { spanText, stageSpan } from "./span";

const at = (seconds: number) => new Date(seconds * 1_000).toISOString();
const step = (startedAt?: string) => ({ startedAt }) as StepRun;
const text = (stage: Parameters<typeof stageSpan>[0], now = 0) => spanText(stageSpan(stage), now);

test("a stage that was retried an hour later took as long as its newest attempt", () => {
  const steps = [step(at(3_600)), step(at(3_601)), step()];
  expect(text({ attempt: 2, steps, startedAt: at(0), endedAt: at(3_892) })).toBe("4:52");
  expect(text({ attempt: 1, steps: [step(at(1))], startedAt: at(0), endedAt: at(31) })).toBe("0:31");
});

test("a retried stage whose steps have not begun has no time yet", () => {
  expect(text({ attempt: 2, steps: [step()], startedAt: at(0), endedAt: null })).toBe("");
});

test("what runs counts up, and what ended within a second shows tenths", () => {
  expect(spanText({ startedAt: at(0), endedAt: null }, 500)).toBe("0:00");
  expect(spanText({ startedAt: at(0), endedAt: at(0.34) }, 99_000)).toBe("0.3 s");
  expect(spanText({}, 0)).toBe("");
});
