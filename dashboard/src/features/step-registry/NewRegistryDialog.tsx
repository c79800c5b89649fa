// Add a registry. Its page shows how the first synchronization goes.
import { useRouter } from "@tanstack/react-router";
import { paths } from "@/lib/paths";
import { registry, registryForm as texts } from "@/texts/en/stepRegistry";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import { RegistryForm } from "./RegistryForm";

export function NewRegistryDialog({ org, onClose }: { org: string; onClose: () => void }) {
  const router = useRouter();
  return (
    <Dialog open onClose={onClose} title={texts.createTitle}>
      <RegistryForm
        org={org}
        onDone={({ id, name }) => {
          showToast({ title: registry.created(name) });
          router.history.push(paths.stepRegistry(org, id));
        }}
      />
    </Dialog>
  );
}
