// A text that counts down: each second below ten minutes, each half minute above.
import { type ReactNode, useEffect, useEffectEvent, useState } from "react";
import { cadenceOf } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";

type Props = {
  until: number;
  children: (left: number) => ReactNode;
  /** Called once when the countdown reaches zero. */
  onEnd?: () => void;
};

export function Countdown({ until, children, onEnd }: Props) {
  const slow = useNow("half-minute");
  return cadenceOf(until - slow) === "second" ? (
    <Seconds until={until} onEnd={onEnd}>
      {children}
    </Seconds>
  ) : (
    children(Math.max(0, until - slow))
  );
}

function Seconds({ until, children, onEnd }: Props) {
  const now = useNow("second");
  const hasEnded = now >= until;
  // A countdown that is over when it appears does not end a second time.
  const [wasOver] = useState(hasEnded);
  const end = useEffectEvent(() => onEnd?.());
  useEffect(() => {
    if (hasEnded && !wasOver) end();
  }, [hasEnded, wasOver]);
  return children(Math.max(0, until - now));
}
