// The button that shows what was sent to a model. Those who may not read it learn who may.
import { Suspense, useState } from "react";
import type { Analysis, Me } from "@/api/types";
import { lazily } from "@/lib/lazily";
import { hasRole } from "@/lib/roles";
import { prompt as texts } from "@/texts/en/analysis";
import { Button } from "@/ui/Button";
import { callOf } from "./explained";

const PromptDialog = lazily(() => import("./PromptDialog"), "PromptDialog");

type Props = { org: string; analysis: Analysis; me: Pick<Me, "role"> | undefined };

export function PromptButton({ org, analysis, me }: Props) {
  const [isOpen, setOpen] = useState(false);
  const why = me && !hasRole(me.role, "maintainer") ? texts.maintainersOnly : undefined;
  return (
    <div className="mt-2">
      <Button why={why} onClick={() => setOpen(true)}>
        {texts.action}
      </Button>
      <Suspense>
        {isOpen && <PromptDialog org={org} analysis={callOf(analysis)} onClose={() => setOpen(false)} />}
      </Suspense>
    </div>
  );
}
