// A rail that drains to the left: its length is one lease from now on, its level what is left of this one, and
// its notch the latest time to which the lease can be renewed.
import { type CSSProperties, useMemo } from "react";
import { cx } from "@/lib/classes";
import { serverNow } from "@/lib/clock";
import { levelOf } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";
import { type Tone, toneFill } from "./tone";

type Props = {
  endsAt: number;
  span: number;
  maxEndsAt?: number;
  tone: Tone;
  /** What the rail shows, in words. */
  label: string;
};

export function Fader({ endsAt, span, maxEndsAt, tone, label }: Props) {
  const now = useNow("half-minute");
  // The animation runs by itself from here on. It starts anew only if the lease changes.
  const start = useMemo(() => {
    const left = Math.max(0, endsAt - serverNow());
    return { from: levelOf(left, span), left };
  }, [endsAt, span]);
  const level = {
    "--from": start.from,
    "--at": levelOf(endsAt - now, span),
    animationDuration: `${start.left}ms`,
  } as CSSProperties;
  return (
    <div role="img" aria-label={label} className="relative mt-1 h-1.5">
      <div className="absolute inset-0 overflow-hidden rounded-[3px] bg-sunken">
        <div
          key={`${endsAt}/${span}`}
          style={level}
          className={cx("fader-level h-full rounded-[3px]", toneFill[tone])}
        />
      </div>
      {maxEndsAt !== undefined && (
        <div
          style={{ left: `calc(${levelOf(maxEndsAt - now, span) * 100}% - 2px)` }}
          className="absolute -top-0.5 h-2.5 w-0.5 bg-ink3"
        />
      )}
    </div>
  );
}
