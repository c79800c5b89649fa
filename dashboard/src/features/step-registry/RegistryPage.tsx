// One registry: its steps, what was refused, and its settings.
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Suspense, useState, type ReactNode } from "react";
import { meQuery } from "@/api/me";
import { registryQuery, type RegistryRecord } from "@/api/stepRegistry";
import { ProblemPanel } from "@/features/problem";
import { serverNow } from "@/lib/clock";
import { useTitle } from "@/lib/favicon";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { useNow } from "@/lib/ticker";
import { registry as texts } from "@/texts/en/stepRegistry";
import { Badge } from "@/ui/Badge";
import { DetailColumns, PageHead } from "@/ui/Page";
import { SkeletonRows } from "@/ui/Skeleton";
import { registryState } from "@/ui/state";
import { RefusedTags } from "./RefusedTags";
import { RegistryActions } from "./RegistryActions";
import { RegistryBar } from "./RegistryBar";
import type { OpenRegistry } from "./RegistryDialog";
import { RegistryFacts } from "./RegistryFacts";
import { StepTable } from "./StepTable";
import { phaseOf, pollDelay } from "./sync";
import { SyncLine } from "./SyncState";

const RegistryDialog = lazily(() => import("./RegistryDialog"), "RegistryDialog");

export function RegistryPage(): ReactNode {
  const { org, registry: id } = useParams({ from: "/o/$org/step-registries/$registry" });
  const registry = useQuery({
    ...registryQuery(org, id),
    refetchInterval: ({ state }) => pollDelay(state.data ? [state.data] : [], serverNow()),
  });
  useTitle(registry.data?.name ?? texts.title, org);
  if (registry.error && !registry.data)
    return <ProblemPanel error={registry.error} onRetry={() => void registry.refetch()} />;
  return registry.data ? <Loaded org={org} registry={registry.data} /> : <SkeletonRows />;
}

function Loaded({ org, registry }: { org: string; registry: RegistryRecord }) {
  // A synchronization takes seconds, and its phases are shown.
  const now = useNow("second");
  const [open, setOpen] = useState<OpenRegistry | undefined>();
  const role = useQuery(meQuery(org)).data?.role;
  const phase = phaseOf(registry, now);
  const isManaged = role !== undefined && hasRole(role, "admin") && !registry.deletedAt;
  return (
    <>
      <PageHead
        title={registry.name}
        badge={!registry.deletedAt && <Badge state={registryState(registry.status)} />}
        actions={isManaged && <RegistryActions org={org} registry={registry} phase={phase} onOpen={setOpen} />}
      />
      <RegistryBar registry={registry} />
      {!registry.deletedAt && registry.status !== "disabled" && <SyncLine registry={registry} now={now} />}
      <DetailColumns
        main={
          <>
            <h2 className="mb-2 text-16">{texts.steps}</h2>
            <StepTable org={org} registry={registry} isSyncing={phase === "running" || phase === "soon"} />
            <RefusedTags org={org} registry={registry.id} />
          </>
        }
        aside={<RegistryFacts org={org} registry={registry} />}
      />
      <Suspense>
        {open && <RegistryDialog org={org} registry={registry} open={open} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </>
  );
}
