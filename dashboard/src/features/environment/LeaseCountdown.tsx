// The fader of an environment and the line below it.
import type { Environment } from "@/api/types";
import { isLow } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";
import { environment as texts } from "@/texts/en/environment";
import { Countdown } from "@/ui/Countdown";
import { LeaseLine } from "@/ui/DoorCard";
import { Fader } from "@/ui/Fader";
import { type Lease, leaseOf, toneOf } from "./lease";
import type { View } from "./view";

type Props = { environment: Environment; view: View; onEnd: () => void };

export function LeaseCountdown({ environment, view, onEnd }: Props) {
  const now = useNow("half-minute");
  const lease = leaseOf(environment, view);
  if (!lease) return null;
  const left = Math.max(0, lease.endsAt - now);
  return (
    <>
      <Fader
        endsAt={lease.endsAt}
        span={lease.span}
        maxEndsAt={lease.maxEndsAt}
        tone={toneOf(lease, view, now)}
        label={lease.kind === "lease" ? texts.label(left, lease.endsAt, now) : leftOf(lease, left)}
      />
      <LeaseLine
        low={lease.kind === "lease" && isLow(left)}
        left={
          <Countdown until={lease.endsAt} onEnd={onEnd}>
            {(rest) => leftOf(lease, rest)}
          </Countdown>
        }
        right={rightOf(lease, now)}
      />
    </>
  );
}

function leftOf(lease: Lease, left: number): string {
  switch (lease.kind) {
    case "turn":
      return texts.turnEnds(left);
    case "handover":
      return texts.handsOver(left);
    case "lapse":
      return texts.lapses(left);
    case "lease":
      return texts.left(left);
  }
}

function rightOf(lease: Lease, now: number): string {
  if (lease.kind === "handover") return texts.unlessDeclined;
  return lease.kind === "lapse" ? texts.unlessAccepted : texts.ends(lease.endsAt, now);
}
