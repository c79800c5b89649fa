// The button that opens the dialog. Those who may not propose a fix read why.
import { Suspense, useState } from "react";
import type { FailureEvidence, Me } from "@/api/types";
import { lazily } from "@/lib/lazily";
import { propose as texts } from "@/texts/en/fix";
import { Button } from "@/ui/Button";
import { whyNotPropose } from "./rights";

const ProposeDialog = lazily(() => import("./ProposeDialog"), "ProposeDialog");

type Props = {
  org: string;
  deployment: string;
  failure: FailureEvidence;
  /** The stage and the step that have failed, as the panel names them. */
  name: string;
  me: Pick<Me, "role"> | undefined;
};

export function ProposeButton({ me, ...rest }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button title={texts.hint} why={me && whyNotPropose(me)} onClick={() => setOpen(true)}>
        {texts.action}
      </Button>
      <Suspense>{isOpen && <ProposeDialog {...rest} onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}
