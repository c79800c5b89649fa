// The lines of the log that a model refers to, each with a link to it.
import type { EvidenceItem, FailureEvidence } from "@/api/types";
import { paths } from "@/lib/paths";
import { explanation as texts } from "@/texts/en/analysis";
import { Link } from "@/ui/Link";
import { LogText } from "@/ui/LogText";
import { lineOf } from "./cited";

type Props = { org: string; deployment: string; failure: FailureEvidence; items: readonly EvidenceItem[] };

export function Citations({ org, deployment, failure, items }: Props) {
  const place = { stage: failure.stage, step: failure.stepRunId ?? undefined };
  return (
    <ul className="flex flex-col gap-1 font-mono text-12">
      {items.map((item) => {
        const { number, text, others } = lineOf(item, failure);
        return (
          <li key={item.id} className="flex gap-3">
            {number !== undefined && (
              <Link
                to={paths.deployment(org, deployment, place, { from: number })}
                aria-label={texts.line(number)}
                className="shrink-0 text-ink2 underline"
              >
                {number}
              </Link>
            )}
            <span className="min-w-0">
              <LogText text={text} />
              {others > 0 && <span className="ml-2 text-ink3">{texts.more(others)}</span>}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
