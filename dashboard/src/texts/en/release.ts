// The text of the confirmation dialog before a release that can't be undone.
import { environment as texts } from "./environment";

type Loss = { isRunning: boolean; waiting: number };

/** What a release ends or gives away. `undefined` if nothing runs and nobody waits: then it needs no question. */
export function releaseQuestion({ isRunning, waiting }: Loss): string | undefined {
  const parts = [isRunning && texts.releaseRunningText, waiting > 0 && texts.releaseWaitingText(waiting)];
  return parts.filter(Boolean).join(" ") || undefined;
}
