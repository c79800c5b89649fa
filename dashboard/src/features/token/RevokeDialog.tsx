// Asks before a token is revoked.
import { token as texts } from "@/texts/en/token";
import { Confirm } from "@/ui/Confirm";

type Props = { name: string; busy: boolean; onConfirm: () => void; onClose: () => void };

export function RevokeDialog({ name, ...rest }: Props) {
  return <Confirm title={texts.revokeTitle(name)} text={texts.revokeText} action={texts.revoke} {...rest} />;
}
