// How a session ended, as a sentence.
import type { Session } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { session as texts } from "@/texts/en/session";
import { clock } from "@/texts/en/time";

/** Returns nothing while the session has not ended. */
export function endingOf({ status, override, endedAt }: Session): string | undefined {
  const time = timeOf(endedAt);
  if (time === undefined) return undefined;
  const at = clock(time, Date.now());
  if (override) return texts.takenOver(override.by?.name ?? "–", at, override.reason);
  return texts.endings[status]?.(at);
}
