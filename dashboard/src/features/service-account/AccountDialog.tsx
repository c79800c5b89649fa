// The dialogs of a service account: change it, delete it.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { keys } from "@/api/keys";
import { accountEndingsQuery, type AccountRecord, deleteServiceAccount } from "@/api/serviceAccount";
import { Endings, whyNotYet } from "@/features/ending";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { serviceAccount as texts } from "@/texts/en/serviceAccount";
import { Confirm } from "@/ui/Confirm";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import { AccountForm } from "./AccountForm";

type Props = { org: string; account: AccountRecord; onClose: () => void };

export function AccountDialog({ open, ...rest }: Props & { open: "edit" | "delete" }) {
  if (open === "delete") return <DeleteDialog {...rest} />;
  const { org, account, onClose } = rest;
  return (
    <Dialog open onClose={onClose} title={texts.editTitle(account.name)}>
      <AccountForm
        org={org}
        account={account}
        onDone={({ name }) => {
          onClose();
          showToast({ title: texts.saved(name) });
        }}
      />
    </Dialog>
  );
}

function DeleteDialog({ org, account, onClose }: Props) {
  const queries = useQueryClient();
  const router = useRouter();
  const endings = useQuery(accountEndingsQuery(org, account.id));
  const remove = useMutation({
    mutationFn: () => deleteServiceAccount(org, account.id),
    onSuccess: () => {
      showToast({ title: texts.deleted(account.name) });
      router.history.push(paths.serviceAccounts(org));
      void queries.invalidateQueries({ queryKey: [...keys.serviceAccounts(org), "list"] });
    },
  });
  return (
    <Confirm
      title={texts.deleteTitle(account.name)}
      text={texts.deleteText}
      action={texts.delete}
      busy={remove.isPending}
      why={whyNotYet(endings)}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Endings endings={endings} />
      {remove.error && <ProblemPanel error={remove.error} />}
    </Confirm>
  );
}
