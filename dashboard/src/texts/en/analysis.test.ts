import { expect, test } from "vitest";
import { attemptSentence, budgetSentence } from "./analysis";

const NOW = Date.parse("2026-11-18T12:00:00");

test("a call waits for the model, with its deadline", () => {
  const analysis = { status: "analyzing", deadlineAt: "2026-11-18T12:10:00" };
  expect(attemptSentence(analysis, NOW)).toBe("Waits for the model to respond, until 12:10 at the latest.");
  expect(attemptSentence({ status: "collecting" }, NOW)).toBe("Waits for the evidence.");
});

test("a model that has failed costs nothing of the rest", () => {
  const analysis = { status: "failed", reason: "model_failed", detail: "the endpoint responded 500" };
  expect(attemptSentence(analysis, NOW)).toMatch(/^The model gave no explanation\./);
});

test.each([
  [
    "the budget for requests is exhausted until 2026-11-18T14:00:00",
    /^The limit of requests per day .*is used up\. It resets 14:00,/,
  ],
  [
    "the budget for tokens is exhausted: its limit is too low for this request",
    /^The limit of tokens per month .*does not allow/,
  ],
  ["something else", /^A limit .*does not allow/],
])("%s", (detail, expected) => {
  const analysis = { status: "refused", reason: "budget_exhausted", detail };
  expect(attemptSentence(analysis, NOW)).toMatch(expected);
});

test("a limit of a newer server is named as it is", () => {
  expect(budgetSentence("seconds", undefined, NOW)).toMatch(/^The limit of seconds for/);
});
