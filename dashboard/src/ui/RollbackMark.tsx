// Marks what went back to an earlier deployment.
import { Undo2 } from "lucide-react";
import { lasting as texts } from "@/texts/en/lasting";

export function RollbackMark() {
  return (
    <span
      title={texts.rollbackHint}
      className="inline-flex shrink-0 items-center gap-1 rounded-full bg-violet-soft py-px pr-2 pl-1.5 align-middle text-12 font-bold whitespace-nowrap text-violet"
    >
      <Undo2 aria-hidden size={12} strokeWidth={2.25} />
      {texts.rollback}
    </span>
  );
}
