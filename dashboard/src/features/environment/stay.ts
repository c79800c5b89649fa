// The message after joining a queue. Pure.
import type { Session } from "@/api/types";
import { keptUntil } from "@/lib/stay";
import { environment as texts } from "@/texts/en/environment";
import type { Toast } from "@/ui/toasts";

/** What a person reads who has joined a queue. */
export function queuedMessage(session: Session, now: number): Toast {
  const title = texts.queued(session.envName, session.position);
  const until = keptUntil(session);
  return until === undefined ? { title } : { title, text: texts.placeKept(until, now) };
}
