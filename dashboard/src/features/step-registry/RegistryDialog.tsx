// The dialogs of a registry: change, disable, enable and delete it.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { keys } from "@/api/keys";
import { deleteRegistry, type RegistryRecord, updateRegistry } from "@/api/stepRegistry";
import { ProblemPanel } from "@/features/problem";
import { paths } from "@/lib/paths";
import { registry as pageTexts, registryForm as texts } from "@/texts/en/stepRegistry";
import { Button } from "@/ui/Button";
import { Confirm } from "@/ui/Confirm";
import { Dialog } from "@/ui/Dialog";
import { showToast } from "@/ui/toasts";
import { RegistryForm } from "./RegistryForm";

export type OpenRegistry = "edit" | "disable" | "enable" | "delete";

type Props = { org: string; registry: RegistryRecord; onClose: () => void };

export function RegistryDialog({ open, ...rest }: Props & { open: OpenRegistry }) {
  const { org, registry, onClose } = rest;
  switch (open) {
    case "edit":
      return (
        <Dialog open onClose={onClose} title={texts.editTitle(registry.name)}>
          <RegistryForm
            org={org}
            registry={registry}
            onDone={({ name }) => {
              onClose();
              showToast({ title: texts.saved(name) });
            }}
          />
        </Dialog>
      );
    case "disable":
      return <DisableDialog {...rest} />;
    case "enable":
      return <EnableDialog {...rest} />;
    case "delete":
      return <DeleteDialog {...rest} />;
  }
}

function useDisabled({ org, registry, onClose }: Props, disabled: boolean) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => updateRegistry(org, registry, { disabled }),
    onSuccess: (changed) => {
      queries.setQueryData(keys.stepRegistry(org, registry.id), changed);
      onClose();
      showToast({ title: disabled ? texts.disabled(registry.name) : texts.enabled(registry.name) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.stepRegistries(org) }),
  });
}

function DisableDialog(props: Props) {
  const disable = useDisabled(props, true);
  return (
    <Confirm
      title={texts.disableTitle(props.registry.name)}
      text={texts.disableText}
      action={pageTexts.disable}
      busy={disable.isPending}
      onConfirm={() => disable.mutate()}
      onClose={props.onClose}
    >
      {disable.error && <ProblemPanel error={disable.error} />}
    </Confirm>
  );
}

function EnableDialog(props: Props) {
  const enable = useDisabled(props, false);
  return (
    <Dialog
      open
      onClose={props.onClose}
      title={texts.enableTitle(props.registry.name)}
      description={texts.enableText}
      actions={
        <Button look="primary" busy={enable.isPending} onClick={() => enable.mutate()}>
          {pageTexts.enable}
        </Button>
      }
    >
      {enable.error && <ProblemPanel error={enable.error} />}
    </Dialog>
  );
}

function DeleteDialog({ org, registry, onClose }: Props) {
  const queries = useQueryClient();
  const router = useRouter();
  // The record when the dialog was opened: one that was changed meanwhile is not deleted unseen.
  const [original] = useState(registry);
  const remove = useMutation({
    mutationFn: () => deleteRegistry(org, original),
    onSuccess: () => {
      showToast({ title: texts.deleted(original.name) });
      router.history.push(paths.stepRegistries(org));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.stepRegistries(org) }),
  });
  return (
    <Confirm
      title={texts.deleteTitle(original.name)}
      text={texts.deleteText}
      action={pageTexts.delete}
      busy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      {remove.error && <ProblemPanel error={remove.error} />}
    </Confirm>
  );
}
