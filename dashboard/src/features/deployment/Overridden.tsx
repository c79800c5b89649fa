// Who overrode the gates of a stage, and why. It stays on the stage.
import { ShieldAlert } from "lucide-react";
import type { GateOverride } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { useNow } from "@/lib/ticker";
import { override as texts } from "@/texts/en/deployment";
import { clock } from "@/texts/en/time";

export function Overridden({ override: { by, gates, reason, at } }: { override: GateOverride }) {
  const now = useNow("half-minute");
  const words = gates.map((gate) => texts.gates[gate] ?? gate).join(texts.and);
  return (
    <div className="mb-2 flex gap-2 rounded-6 bg-red-soft px-3 py-2 text-red">
      <ShieldAlert aria-hidden size={18} className="mt-px shrink-0" />
      <p className="min-w-0 wrap-anywhere">
        <strong>{texts.by(by.name, words, clock(timeOf(at) ?? now, now))}</strong> “{reason}”
      </p>
    </div>
  );
}
