// The texts that describe a freeze: when it holds, what it covers, and when it next begins or ends. No side effects.
import type { Freeze } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { freeze as texts } from "@/texts/en/freeze";
import { clock } from "@/texts/en/time";
import type { FreezeState } from "@/ui/state";

/** One line for each window, such as `Friday 16:00 to Monday 08:00, Europe/Berlin`. */
export function whenTexts({ weekly, zone, from, to }: Freeze, now: number): string[] {
  if (weekly.length === 0) return [periodText(from, to, now)];
  const lines = weekly.map((window) => texts.period(dayText(window.from), dayText(window.to)));
  return lines.map((line) => (zone ? `${line}, ${zone}` : line));
}

export function coversText({ environments, pipelines }: Freeze, nameOf: (id: string) => string): string {
  return texts.coversText(
    environments.length > 0 ? environments.join(", ") : texts.allEnvironments,
    pipelines.length > 0 ? pipelines.map(nameOf).join(", ") : texts.allPipelines,
  );
}

/** Until when it holds, or when it holds next. Empty for one with `from` and `to` that has yet to begin or is over. */
export function nextText({ weekly, until, nextFrom, nextUntil }: Freeze, state: FreezeState, now: number): string {
  if (state === "active") return texts.until(timeText(until ?? nextUntil, now));
  if (state === "coming" && weekly.length > 0) return periodText(nextFrom, nextUntil, now);
  return "";
}

/** `fri 16:00` as `Friday 16:00`. */
function dayText(text: string): string {
  const [day = "", time = ""] = text.split(" ");
  return `${texts.days[day] ?? day} ${time}`;
}

/** The day of the end is left out if it is that of the beginning. */
function periodText(from: string | null | undefined, to: string | null | undefined, now: number): string {
  return texts.period(timeText(from, now), timeText(to, timeOf(from) ?? now));
}

function timeText(value: string | null | undefined, now: number): string {
  const time = timeOf(value);
  return time === undefined ? "" : clock(time, now);
}
