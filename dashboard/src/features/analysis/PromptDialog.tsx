// Everything that was sent to a model for an analysis, with the host that got it.
import { useQuery } from "@tanstack/react-query";
import { promptQuery } from "@/api/analysis";
import { Problem } from "@/api/problem";
import type { AnalysisPrompt } from "@/api/types";
import { ProblemPanel } from "@/features/problem";
import { visible } from "@/lib/visible";
import { prompt as texts } from "@/texts/en/analysis";
import { full } from "@/texts/en/time";
import { Dialog } from "@/ui/Dialog";
import { LogText } from "@/ui/LogText";
import { SkeletonRows } from "@/ui/Skeleton";
import { Facts } from "@/ui/Table";

type Props = { org: string; analysis: string; onClose: () => void };

export function PromptDialog({ org, analysis, onClose }: Props) {
  const { data, error, isPending, refetch } = useQuery(promptQuery(org, analysis));
  const code = error instanceof Problem ? error.code : undefined;
  return (
    <Dialog open onClose={onClose} title={texts.title}>
      {isPending && <SkeletonRows />}
      {code === "not_found" && <p>{texts.none}</p>}
      {code === "evidence_expired" && <p>{texts.gone}</p>}
      {error && !data && code !== "not_found" && code !== "evidence_expired" && (
        <ProblemPanel error={error} onRetry={() => void refetch()} />
      )}
      {data && <Prompt prompt={data} />}
    </Dialog>
  );
}

function Prompt({ prompt }: { prompt: AnalysisPrompt }) {
  const { inputTokens, outputTokens, error } = prompt;
  const facts = [
    { name: texts.to, value: <b className="font-bold wrap-anywhere">{prompt.host}</b> },
    { name: texts.model, value: <span className="wrap-anywhere">{visible(prompt.model)}</span> },
    { name: texts.at, value: full(Date.parse(prompt.sentAt)) },
    typeof inputTokens === "number" && { name: texts.tokens, value: texts.tokensOf(inputTokens, outputTokens ?? 0) },
    error && { name: texts.error, value: <span className="wrap-anywhere">{visible(error)}</span> },
    { name: texts.hash, value: <code className="text-12 break-all">{prompt.hash}</code> },
  ];
  return (
    <>
      <Facts facts={facts.filter((fact) => typeof fact === "object" && fact !== null)} />
      {/* It scrolls by itself, so it can be focused. */}
      <div
        role="region"
        aria-label={texts.text}
        tabIndex={0}
        className="max-h-96 shrink-0 overflow-auto rounded-4 bg-sunken p-3 font-mono text-12"
      >
        <LogText text={prompt.text} />
      </div>
    </>
  );
}
