// The dialogs of one secret: a new value, other rules, another active version, and what is destroyed for good.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { keys } from "@/api/keys";
import { activateSecretVersion, deleteSecret, destroySecretVersion, type SecretRecord } from "@/api/secret";
import { showProblem } from "@/features/problem";
import { paths } from "@/lib/paths";
import { secret as texts } from "@/texts/en/secret";
import { Confirm } from "@/ui/Confirm";
import { showToast } from "@/ui/toasts";
import { EditDialog } from "./EditDialog";
import { NewVersionDialog } from "./NewVersionDialog";
import type { VersionAction } from "./VersionTable";

export type OpenSecret = { kind: "value" | "edit" | "delete" } | { kind: "version"; action: VersionAction };

type Props = { org: string; secret: SecretRecord; onClose: () => void };

export function SecretDialog({ open, ...rest }: Props & { open: OpenSecret }) {
  switch (open.kind) {
    case "value":
      return <NewVersionDialog {...rest} />;
    case "edit":
      return <EditDialog {...rest} />;
    case "delete":
      return <DeleteDialog {...rest} />;
    case "version":
      return <VersionDialog {...rest} action={open.action} />;
  }
}

function DeleteDialog({ org, secret, onClose }: Props) {
  const queries = useQueryClient();
  const router = useRouter();
  const remove = useMutation({
    mutationFn: () => deleteSecret(org, secret.id),
    onSuccess: () => {
      showToast({ title: texts.deleted(secret.name) });
      router.history.push(paths.secrets(org));
    },
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.secrets(org) }),
  });
  return (
    <Confirm
      title={texts.deleteTitle(secret.name)}
      text={texts.deleteText}
      action={texts.delete}
      busy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    />
  );
}

function VersionDialog({ org, secret, action: { kind, version }, onClose }: Props & { action: VersionAction }) {
  const queries = useQueryClient();
  const isActivation = kind === "activate";
  const act = useMutation({
    mutationFn: () => (isActivation ? activateSecretVersion : destroySecretVersion)(org, secret.id, version),
    onSuccess: () => {
      onClose();
      showToast({ title: isActivation ? texts.wasSet(version) : texts.destroyed(version) });
    },
    onError: showProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.secrets(org) }),
  });
  return (
    <Confirm
      title={isActivation ? texts.activateTitle(version) : texts.destroyTitle(version)}
      text={isActivation ? texts.activateText(secret.activeVersion) : texts.destroyText}
      action={texts[kind]}
      busy={act.isPending}
      onConfirm={() => act.mutate()}
      onClose={onClose}
    />
  );
}
