// A sign-in link for a new member. It is shown once and kept nowhere: neither in the cache nor in storage.
import { useMutation } from "@tanstack/react-query";
import { createSignInLink } from "@/api/member";
import type { Member } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { common } from "@/texts/en/common";
import { member as texts } from "@/texts/en/member";
import { clock } from "@/texts/en/time";
import { Button } from "@/ui/Button";
import { Copyable } from "@/ui/Copyable";
import { Dialog } from "@/ui/Dialog";
import { type MemberDialogProps, MemberProblem } from "./MemberDialog";

export function LinkDialog({ org, member, onClose }: MemberDialogProps & { member: Member }) {
  const make = useMutation({ mutationFn: () => createSignInLink(org, member.userId), gcTime: 0 });
  const title = texts.linkTitle(member.name);
  if (make.data) {
    const { url, expiresAt } = make.data;
    const until = timeOf(expiresAt);
    return (
      <Dialog
        open
        onClose={onClose}
        title={title}
        description={url ? texts.onceText : texts.lost}
        actions={
          <Button look="primary" onClick={onClose}>
            {texts.done}
          </Button>
        }
      >
        {url && <Copyable text={url} label={texts.once} />}
        {url && until !== undefined && <p className="text-13 text-ink2">{texts.until(clock(until, Date.now()))}</p>}
      </Dialog>
    );
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      description={texts.linkText}
      actions={
        <>
          <Button look="primary" busy={make.isPending} onClick={() => make.mutate()}>
            {texts.make}
          </Button>
          <Button look="quiet" onClick={onClose}>
            {common.cancel}
          </Button>
        </>
      }
    >
      {make.error && <MemberProblem error={make.error} />}
    </Dialog>
  );
}
