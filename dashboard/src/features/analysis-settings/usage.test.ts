import { expect, test } from "vitest";
import { budgetsOf } from "./usage";

const settings = {
  maxRequestsPerDay: 5,
  maxTokensPerMonth: null,
  maxCostMicrosPerMonth: null,
  inputPriceMicros: 0,
  outputPriceMicros: 0,
  usage: { day: "2026-12-31", requests: 5, month: "2026-12", tokens: 91_250, costMicros: 0 },
};

test("requests reset at the end of the day, tokens at the end of the month, both of UTC", () => {
  const [requests, tokens] = budgetsOf(settings);
  expect(requests).toEqual({
    of: "requests",
    used: 5,
    limit: 5,
    isUsedUp: true,
    resetsAt: Date.parse("2027-01-01T00:00:00Z"),
  });
  expect(tokens).toMatchObject({ limit: undefined, isUsedUp: false, resetsAt: Date.parse("2027-01-01T00:00:00Z") });
  const october = budgetsOf({ ...settings, usage: { ...settings.usage, day: "2026-10-08", month: "2026-10" } });
  expect(october.map(({ resetsAt }) => new Date(resetsAt ?? 0).toISOString())).toEqual([
    "2026-10-09T00:00:00.000Z",
    "2026-11-01T00:00:00.000Z",
  ]);
});

test("money is shown if it is known", () => {
  expect(budgetsOf(settings).map((budget) => budget.of)).toEqual(["requests", "tokens"]);
  expect(budgetsOf({ ...settings, outputPriceMicros: 1 }).map((budget) => budget.of)).toEqual([
    "requests",
    "tokens",
    "cost",
  ]);
});

test("a day of another form has no time of reset", () => {
  const [requests] = budgetsOf({ ...settings, usage: { ...settings.usage, day: "today" } });
  expect(requests?.resetsAt).toBeUndefined();
});
