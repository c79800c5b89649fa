// The sessions that a change of rights would end, read before it is made.
import type { EndedSession } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { ending as texts } from "@/texts/en/ending";
import { SkeletonRows } from "@/ui/Skeleton";

/** The server lists this many at most. */
const MAX_LISTED = 500;

export type EndingsRead = { data?: readonly EndedSession[]; error: unknown; isPending: boolean };

/** Names the people too, if the change can concern several of them. */
export function Endings({ endings: { data, error }, names = false }: { endings: EndingsRead; names?: boolean }) {
  if (error) return <ProblemPanel error={error} />;
  if (!data) return <SkeletonRows rows={2} />;
  if (data.length === 0) return <p className="text-ink2">{texts.nothing}</p>;
  return (
    <div role="status" className="rounded-6 bg-amber-soft p-3 text-amber">
      <p className="font-strong">{texts.ends(data.length)}</p>
      <ul className="max-h-40 overflow-y-auto">
        {data.map((session) => (
          <li key={session.sessionId}>
            {names && session.userName} {session.status === "queued" ? texts.waits : texts.holds}{" "}
            <b className="font-strong">{session.envName}</b>
          </li>
        ))}
      </ul>
      {data.length >= MAX_LISTED && <p>{texts.more}</p>}
    </div>
  );
}

/** Why the change can't be confirmed yet. */
export function whyNotYet({ isPending, error }: EndingsRead): string | undefined {
  return isPending ? texts.checking : error ? texts.refused : undefined;
}
