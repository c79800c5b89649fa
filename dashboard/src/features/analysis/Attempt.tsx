// A call of the model that is being made, has failed, or was refused.
import type { Analysis, Me } from "@/api/types";
import { useNow } from "@/lib/ticker";
import { visible } from "@/lib/visible";
import { attemptSentence, explanation as texts } from "@/texts/en/analysis";
import { Badge } from "@/ui/Badge";
import { analysisState } from "@/ui/analysis";
import { PromptButton } from "./PromptButton";

type Props = { org: string; analysis: Analysis; me: Pick<Me, "role"> | undefined };

export function Attempt({ org, analysis, me }: Props) {
  const now = useNow("half-minute");
  const { status, reason, detail, model } = analysis;
  const hasFailed = reason === "model_failed";
  return (
    <section aria-label={texts.attempt}>
      <h4 className="text-14 font-bold">{texts.attempt}</h4>
      <div role="status" className="mt-1 flex flex-wrap items-start gap-x-3 gap-y-1">
        <Badge state={analysisState(status)} />
        <p className="min-w-0 max-w-prose">
          {attemptSentence(analysis, now)}{" "}
          {hasFailed && detail && <bdi className="text-13 wrap-anywhere text-ink2">({visible(detail)})</bdi>}
        </p>
      </div>
      {hasFailed && model && <PromptButton org={org} analysis={analysis} me={me} />}
    </section>
  );
}
