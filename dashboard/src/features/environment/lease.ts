// Which countdown a card shows: the lease, a hand-over that was requested, or a turn to confirm. Pure.
import type { Environment } from "@/api/types";
import { isLow, timeOf } from "@/lib/countdown";
import type { Tone } from "@/ui/tone";
import { configurationOf } from "./configuration";
import type { View } from "./view";

export type Lease = {
  kind: "lease" | "turn" | "handover" | "lapse";
  endsAt: number;
  /** How much time a full rail stands for. */
  span: number;
  maxEndsAt: number | undefined;
};

export function leaseOf(environment: Environment, view: View): Lease | undefined {
  const { lock } = environment;
  if (lock.status !== "locked") return undefined;
  const confirmBy = timeOf(lock.confirmBy);
  if (view.state === "your_turn" && confirmBy !== undefined) {
    return { kind: "turn", endsAt: confirmBy, span: spanFrom(lock.claimedAt, confirmBy), maxEndsAt: undefined };
  }
  const dueAt = timeOf(lock.handover?.dueAt);
  if (lock.handover && dueAt !== undefined && view.state !== "yours") {
    const kind = lock.handover.onSilence === "accept" ? "handover" : "lapse";
    return { kind, endsAt: dueAt, span: spanFrom(lock.handover.requestedAt, dueAt), maxEndsAt: undefined };
  }
  const endsAt = timeOf(lock.expiresAt);
  if (endsAt === undefined) return undefined;
  return {
    kind: "lease",
    endsAt,
    span: configurationOf(environment).leaseDefault * 1_000,
    maxEndsAt: timeOf(lock.maxExpiresAt),
  };
}

function spanFrom(start: string | null | undefined, end: number): number {
  return Math.max(1_000, end - (timeOf(start) ?? end));
}

export function toneOf(lease: Lease, view: View, now: number): Tone {
  if (lease.kind === "handover" || lease.kind === "lapse") return "violet";
  if (lease.kind === "lease" && isLow(lease.endsAt - now)) return "amber";
  return view.door === "yours" ? "gold" : "slate";
}
