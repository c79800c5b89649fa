// The dialog that confirms the deletion of a trust policy.
import { trustPolicy as texts } from "@/texts/en/trustPolicy";
import { Confirm } from "@/ui/Confirm";

type Props = { name: string; busy: boolean; onConfirm: () => void; onClose: () => void };

export function DeletePolicyDialog({ name, ...rest }: Props) {
  return <Confirm title={texts.deleteTitle(name)} text={texts.deleteText} action={texts.delete} {...rest} />;
}
