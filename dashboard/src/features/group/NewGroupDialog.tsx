// Create a group. Its page opens, so that members can be added.
import { useRouter } from "@tanstack/react-router";
import { paths } from "@/lib/paths";
import { group as texts } from "@/texts/en/group";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import { GroupForm } from "./GroupForm";

export function NewGroupDialog({ org, onClose }: { org: string; onClose: () => void }) {
  const router = useRouter();
  return (
    <Dialog open onClose={onClose} title={texts.create}>
      <GroupForm
        org={org}
        onDone={({ id, name }) => {
          showToast({ title: texts.createdToast(name) });
          router.history.push(paths.group(org, id));
        }}
      />
    </Dialog>
  );
}
