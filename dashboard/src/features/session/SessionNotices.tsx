// How a session ended, and who declined to hand over.
import type { Session } from "@/api/types";
import { endingOf } from "@/features/notice";
import { session as texts } from "@/texts/en/session";

export function SessionNotices({ session }: { session: Session }) {
  const notices = [endingOf(session), declinedOf(session)].filter((notice) => notice !== undefined);
  return notices.map((notice) => (
    <p key={notice} role="status" className="mb-4 rounded-6 bg-amber-soft px-3 py-2 font-strong text-amber">
      {notice}
    </p>
  ));
}

function declinedOf({ handoverDeclined }: Session): string | undefined {
  return handoverDeclined
    ? texts.declinedNotice(handoverDeclined.by?.name ?? "–", handoverDeclined.context)
    : undefined;
}
