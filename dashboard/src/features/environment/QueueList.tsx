// Who is in line, in order.
import type { Session } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { keptUntil } from "@/lib/stay";
import { useNow } from "@/lib/ticker";
import { environment as texts } from "@/texts/en/environment";
import { history } from "@/texts/en/history";
import { Who } from "@/ui/Face";

/** Until when a person who waits keeps the place without the page. */
function KeptUntil({ session, now }: { session: Session; now: number }) {
  const until = keptUntil(session);
  return until !== undefined && <span className="text-13 text-ink3">{texts.keptUntil(until, now)}</span>;
}

export function QueueList({ sessions }: { sessions: readonly Session[] }) {
  const now = useNow("half-minute");
  return (
    <section className="mt-6">
      <h2 className="mb-2 text-16">{history.queueTitle}</h2>
      {sessions.length === 0 && <p className="text-ink2">{history.nobody}</p>}
      <ol className="flex flex-col">
        {sessions.map((session, index) => {
          const since = timeOf(session.queuedAt);
          return (
            <li key={session.sessionId} className="flex min-h-row items-center gap-3 border-b border-line">
              <span className="w-6 font-mono text-12 text-ink3">{session.position ?? index + 1}</span>
              <Who name={session.claimedBy.name} kind={session.claimedBy.kind} />
              <span className="min-w-0 flex-1 truncate text-ink2">{session.context}</span>
              <KeptUntil session={session} now={now} />
              {since !== undefined && <span className="font-mono text-12 text-ink3">{history.waits(now - since)}</span>}
            </li>
          );
        })}
      </ol>
    </section>
  );
}
