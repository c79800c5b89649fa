// Create a service account. Its page opens, so that it gets a token or a trust policy.
import { useRouter } from "@tanstack/react-router";
import { paths } from "@/lib/paths";
import { serviceAccount as texts } from "@/texts/en/serviceAccount";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import { AccountForm } from "./AccountForm";

export function NewAccountDialog({ org, onClose }: { org: string; onClose: () => void }) {
  const router = useRouter();
  return (
    <Dialog open onClose={onClose} title={texts.create}>
      <AccountForm
        org={org}
        onDone={({ id, name }) => {
          showToast({ title: texts.createdToast(name) });
          router.history.push(paths.serviceAccount(org, id));
        }}
      />
    </Dialog>
  );
}
