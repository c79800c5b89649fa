// What was used of the limits, and when they reset. Days and months are those of UTC. Pure.
import type { AnalysisSettings } from "@/api/types";

export type Budget = {
  of: "requests" | "tokens" | "cost";
  used: number;
  /** `undefined`: there is no limit. */
  limit: number | undefined;
  isUsedUp: boolean;
  /** When nothing of it is used again. `undefined` if the server's day is not a date. */
  resetsAt: number | undefined;
};

type Settings = Pick<
  AnalysisSettings,
  | "usage"
  | "maxRequestsPerDay"
  | "maxTokensPerMonth"
  | "maxCostMicrosPerMonth"
  | "inputPriceMicros"
  | "outputPriceMicros"
>;

export function budgetsOf(settings: Settings): Budget[] {
  const { usage } = settings;
  const day = Date.parse(`${usage.day}T00:00:00Z`);
  const month = Date.parse(`${usage.month}-01T00:00:00Z`);
  const tomorrow = timeOrNone(new Date(day).setUTCDate(new Date(day).getUTCDate() + 1));
  const nextMonth = timeOrNone(new Date(month).setUTCMonth(new Date(month).getUTCMonth() + 1));
  const budgets = [
    budgetOf("requests", usage.requests, settings.maxRequestsPerDay, tomorrow),
    budgetOf("tokens", usage.tokens, settings.maxTokensPerMonth, nextMonth),
  ];
  // Without prices, nothing is known about money.
  const hasPrices = settings.inputPriceMicros > 0 || settings.outputPriceMicros > 0;
  if (hasPrices || usage.costMicros > 0)
    budgets.push(budgetOf("cost", usage.costMicros, settings.maxCostMicrosPerMonth, nextMonth));
  return budgets;
}

function budgetOf(
  of: Budget["of"],
  used: number,
  limit: number | null | undefined,
  resetsAt: number | undefined,
): Budget {
  const known = limit ?? undefined;
  return { of, used, limit: known, isUsedUp: known !== undefined && used >= known, resetsAt };
}

const timeOrNone = (time: number): number | undefined => (Number.isNaN(time) ? undefined : time);
