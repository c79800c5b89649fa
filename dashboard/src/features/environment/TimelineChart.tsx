// The timeline as a picture: people plain, CI striped, agents dotted; hatched while somebody waited; marks are
// deployments. Each bar is a link with a sentence; the table below has the same data.
import type { EnvironmentRef } from "@/api/environment";
import { cx } from "@/lib/classes";
import { paths } from "@/lib/paths";
import { history as texts } from "@/texts/en/history";
import { day as dayText } from "@/texts/en/time";
import { Link } from "@/ui/Link";
import { workState } from "@/ui/state";
import { toneFill } from "@/ui/tone";
import type { Day, Piece } from "./timeline";

const KINDS: Record<string, string> = { ci: "striped", agent: "dotted" };

export function TimelineChart({ at, days }: { at: EnvironmentRef; days: readonly Day[] }) {
  return (
    <div className="flex flex-col gap-1" aria-label={texts.timeline} role="group">
      {days.map((day) => (
        <div key={day.start} className="grid grid-cols-[64px_1fr] items-center gap-2">
          <span className="text-12 text-ink3">{dayText(day.start)}</span>
          <div className="relative h-7 overflow-hidden rounded-4 bg-sunken">
            {day.pieces.map((piece) => (
              <HoldBar key={piece.bar.sessionId} at={at} piece={piece} />
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}

const percent = (fraction: number) => `${fraction * 100}%`;

function HoldBar({ at, piece }: { at: EnvironmentRef; piece: Piece }) {
  const { bar, start, end, waitedStart } = piece;
  return (
    <>
      {waitedStart !== undefined && waitedStart < start && (
        <span
          aria-hidden
          className="striped absolute inset-y-2 opacity-80"
          style={{ left: percent(waitedStart), width: percent(start - waitedStart) }}
        />
      )}
      <Link
        to={paths.session(at, bar.sessionId)}
        aria-label={texts.sentence(bar)}
        title={texts.sentence(bar)}
        style={{ left: percent(start), width: `max(4px, ${percent(end - start)})` }}
        className={cx(
          "absolute inset-y-0.5 truncate rounded-4 border bg-raised px-1 text-12 leading-[22px]",
          bar.status === "overridden" ? "border-red" : "border-control",
          KINDS[bar.kind],
        )}
      >
        {bar.name}
      </Link>
      {piece.marks.map((mark) => (
        <span
          key={mark.at}
          aria-hidden
          className={cx("pointer-events-none absolute bottom-0.5 h-1.5 w-1", toneFill[workState(mark.status).tone])}
          style={{ left: percent(mark.at) }}
        />
      ))}
    </>
  );
}
