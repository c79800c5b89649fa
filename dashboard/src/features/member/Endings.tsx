// What a change of a member would end, read before it is made.
import type { EndedSession } from "@/api/types";
import { member as texts } from "@/texts/en/member";
import { SkeletonRows } from "@/ui/Skeleton";
import { MemberProblem } from "./MemberDialog";

/** The server lists this many at most. */
const MAX_LISTED = 500;

type Props = { endings: { data?: readonly EndedSession[]; error: unknown } };

export function Endings({ endings: { data, error } }: Props) {
  if (error) return <MemberProblem error={error} />;
  if (!data) return <SkeletonRows rows={2} />;
  if (data.length === 0) return <p className="text-ink2">{texts.endsNothing}</p>;
  return (
    <div role="status" className="rounded-6 bg-amber-soft p-3 text-amber">
      <p className="font-strong">{texts.ends(data.length)}</p>
      <ul className="max-h-40 overflow-y-auto">
        {data.map((session) => (
          <li key={session.sessionId}>
            {session.status === "queued" ? texts.waits : texts.holds} <b className="font-strong">{session.envName}</b>
          </li>
        ))}
      </ul>
      {data.length >= MAX_LISTED && <p>{texts.moreEnd}</p>}
    </div>
  );
}
