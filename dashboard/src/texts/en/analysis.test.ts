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

test("a call that a limit forbids has the server's reason", () => {
  const detail = "the budget for requests is exhausted until 2026-11-18T14:00:00Z";
  const analysis = { status: "refused", reason: "budget_exhausted", detail };
  expect(attemptSentence(analysis, NOW)).toBe(`The model was not called: ${detail}. An admin can raise the limit.`);
});

test("a limit of a newer server is named as it is", () => {
  expect(budgetSentence("seconds", undefined, NOW)).toMatch(/^The limit of seconds for/);
});
