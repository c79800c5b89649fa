// Marks a deployment that removes what was deployed.
import { BrushCleaning } from "lucide-react";
import { deploymentLine as texts } from "@/texts/en/environment";

export function TeardownMark() {
  return (
    <span className="inline-flex shrink-0 items-center gap-1 rounded-full bg-slate-soft py-px pr-2 pl-1.5 align-middle text-12 font-bold whitespace-nowrap text-slate">
      <BrushCleaning aria-hidden size={12} strokeWidth={2.25} />
      {texts.teardown}
    </span>
  );
}
