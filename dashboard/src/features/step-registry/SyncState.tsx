// When a registry was last synchronized, or that it is being synchronized.
import { LoaderCircle } from "lucide-react";
import type { StepRegistry } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { registry as texts } from "@/texts/en/stepRegistry";
import { ago, full } from "@/texts/en/time";
import { phaseOf } from "./sync";

type Props = { registry: StepRegistry; now: number };

export function SyncState({ registry, now }: Props) {
  const phase = phaseOf(registry, now);
  if (phase === "running" || phase === "soon") return <Syncing />;
  const synced = timeOf(registry.syncedAt);
  if (synced === undefined) return <span className="text-13 text-ink3">{texts.never}</span>;
  return (
    <span className="text-13 text-ink2" title={full(synced)}>
      {ago(synced, now)}
    </span>
  );
}

function Syncing() {
  return (
    <span className="inline-flex items-center gap-1.5 text-13 text-blue">
      <LoaderCircle aria-hidden size={14} className="turning shrink-0" />
      {texts.syncing}
    </span>
  );
}

/** The same as a sentence, for screen readers too: it is read when a synchronization ends. */
export function SyncLine({ registry, now }: Props) {
  const phase = phaseOf(registry, now);
  const synced = timeOf(registry.syncedAt);
  const next = timeOf(registry.nextSyncAt) ?? now;
  return (
    <p role="status" className="mb-4 flex min-h-5 flex-wrap items-center gap-x-3 text-13 text-ink2">
      {phase === "running" && <Syncing />}
      {phase === "soon" && texts.syncSoon}
      {phase === "stuck" && <span className="text-amber">{texts.syncStuck(now - next)}</span>}
      {phase === "idle" && (synced === undefined ? texts.neverSynced : texts.syncedAgo(ago(synced, now)))}
    </p>
  );
}
