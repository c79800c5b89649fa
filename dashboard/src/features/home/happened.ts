// What ended a session of this person, as a sentence. Pure.
import type { Notice } from "@/api/types";
import { home as texts } from "@/texts/en/home";

export function sentenceOf({
  kind,
  envName,
  by,
  context,
}: Pick<Notice, "kind" | "envName" | "by" | "context">): string {
  switch (kind) {
    case "overridden":
      return context
        ? texts.overriddenFor(by?.name ?? "–", envName, context)
        : texts.overridden(by?.name ?? "–", envName);
    case "place_lost":
      return by ? texts.placeEnded(by.name, envName) : texts.placeLost(envName);
    case "turn_missed":
      return texts.turnMissed(envName);
    // A newer server may send other kinds.
    default:
      return texts.ended(envName);
  }
}

/** The time to mark: of the newest notice that is shown, as the server sent it, because a `Date` has no microseconds. */
export function readUntil(notices: readonly Pick<Notice, "at">[]): string | undefined {
  return notices[0]?.at;
}
