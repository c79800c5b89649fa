// Hold the environment, change or end the own hold, take over that of another user.
import type { LastingEnvironment, Me } from "@/api/types";
import { hold as texts } from "@/texts/en/lasting";
import { Button } from "@/ui/Button";
import type { OpenDialog } from "./LastingDialog";
import { rightsOf } from "./rights";

type Props = {
  hold: NonNullable<LastingEnvironment["hold"]> | undefined;
  me: Pick<Me, "role" | "userId">;
  onOpen: (dialog: OpenDialog) => void;
};

export function HoldButtons({ hold, me, onOpen }: Props) {
  const { why, isOwn } = rightsOf(hold, me);
  if (!hold)
    return (
      <Button look="primary" why={why} onClick={() => onOpen({ kind: "hold" })}>
        {texts.hold}
      </Button>
    );
  return (
    <>
      <Button look={isOwn ? "primary" : "plain"} why={why} onClick={() => onOpen({ kind: "end" })}>
        {texts.end}
      </Button>
      <Button why={why} onClick={() => onOpen({ kind: "hold" })}>
        {isOwn ? texts.change : texts.takeOver}
      </Button>
    </>
  );
}
