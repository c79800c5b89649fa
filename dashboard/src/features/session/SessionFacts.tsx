// Facts about a session.
import type { Session } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { session as texts } from "@/texts/en/session";
import { clock } from "@/texts/en/time";
import { Who } from "@/ui/Face";
import { Facts } from "@/ui/Table";

export function SessionFacts({ session, mine }: { session: Session; mine: boolean }) {
  const isActive = session.status === "active";
  const facts = [
    { name: texts.holder, value: <Who name={session.claimedBy.name} kind={session.claimedBy.kind} mine={mine} /> },
    { name: texts.purpose, value: session.context ?? "–" },
    { name: texts.claimed, value: timeText(session.claimedAt) },
    ...(isActive
      ? [
          { name: texts.ends, value: timeText(session.expiresAt) },
          { name: texts.atMost, value: timeText(session.maxExpiresAt) },
        ]
      : [{ name: texts.ended, value: timeText(session.endedAt) }]),
  ];
  return (
    <section aria-label={texts.facts} className="door border border-line bg-surface p-4">
      <Facts facts={facts} />
    </section>
  );
}

function timeText(value: string | null | undefined): string {
  const time = timeOf(value);
  return time === undefined ? "–" : clock(time, Date.now());
}
