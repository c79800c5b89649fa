// Asks before something is taken from somebody.
import type { ReactNode } from "react";
import { common } from "@/texts/en/common";
import { Button } from "./Button";
import { Dialog } from "./Dialog";

type Props = {
  title: string;
  text: ReactNode;
  action: string;
  /** The button that closes it, if "Cancel" could be taken for the action. */
  close?: string;
  busy: boolean;
  /** Why it can't be confirmed, for example while what it would end is not known yet. */
  why?: string;
  onConfirm: () => void;
  onClose: () => void;
  children?: ReactNode;
};

export function Confirm({
  title,
  text,
  action,
  close = common.cancel,
  busy,
  why,
  onConfirm,
  onClose,
  children,
}: Props) {
  return (
    <Dialog
      open
      danger
      onClose={onClose}
      title={title}
      description={text}
      actions={
        <>
          <Button look="danger" busy={busy} why={why} onClick={onConfirm}>
            {action}
          </Button>
          <Button look="quiet" onClick={onClose}>
            {close}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}
