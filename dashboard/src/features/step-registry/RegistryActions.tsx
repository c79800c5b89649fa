// What admins do with a registry.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { type RegistryRecord, syncRegistry } from "@/api/stepRegistry";
import { showProblem } from "@/features/problem";
import { registry as texts } from "@/texts/en/stepRegistry";
import { Button } from "@/ui/Button";
import type { OpenRegistry } from "./RegistryDialog";
import type { SyncPhase } from "./sync";

type Props = { org: string; registry: RegistryRecord; phase: SyncPhase; onOpen: (open: OpenRegistry) => void };

export function RegistryActions({ org, registry, phase, onOpen }: Props) {
  const queries = useQueryClient();
  const isDisabled = registry.status === "disabled";
  const isSyncing = phase === "running" || phase === "soon";
  const sync = useMutation({
    mutationFn: () => syncRegistry(org, registry.id),
    // From now on the page reads it every few seconds, until the synchronization has ended.
    onSuccess: (requested) => queries.setQueryData(keys.stepRegistry(org, registry.id), requested),
    onError: showProblem,
  });
  return (
    <>
      <Button onClick={() => onOpen("edit")}>{texts.edit}</Button>
      <Button onClick={() => onOpen(isDisabled ? "enable" : "disable")}>
        {isDisabled ? texts.enable : texts.disable}
      </Button>
      <Button onClick={() => onOpen("delete")}>{texts.delete}</Button>
      {!isDisabled && (
        <Button
          look="primary"
          busy={sync.isPending}
          why={isSyncing ? texts.syncBusy : undefined}
          onClick={() => sync.mutate()}
        >
          {texts.sync}
        </Button>
      )}
    </>
  );
}
