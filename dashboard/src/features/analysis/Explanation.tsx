// The explanation of a failure by a model: marked as written by a model, rendered as plain text, and not used by any action.
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { stepEvidenceQuery } from "@/api/failure";
import type { Analysis, FailureEvidence, Me } from "@/api/types";
import { cx } from "@/lib/classes";
import { visible } from "@/lib/visible";
import { explanation as texts } from "@/texts/en/analysis";
import { categoryWords } from "@/texts/en/failure";
import { Facts } from "@/ui/Table";
import { Citations } from "./Citations";
import { citedOf } from "./explained";
import { PromptButton } from "./PromptButton";

type Props = {
  org: string;
  deployment: string;
  failure: FailureEvidence;
  /** One that a model has answered. */
  analysis: Analysis;
  me: Pick<Me, "role"> | undefined;
};

/** The most that the server returns. */
const ALL_LINES = 200;

export function Explanation({ org, deployment, failure, analysis, me }: Props) {
  const { model, cause, next } = analysis;
  const ids = model?.evidence ?? [];
  // The panel shows ten lines at first. What the model refers to may be among the others.
  const shown = citedOf(ids, failure.evidence);
  const step = failure.stepRunId ?? "";
  const all = useQuery({
    ...stepEvidenceQuery(org, deployment, step, ALL_LINES),
    enabled: step !== "" && shown.length < ids.length,
  });
  if (!model) return null;
  const cited = all.data ? citedOf(ids, all.data.evidence) : shown;
  const facts: (false | undefined | null | "" | { name: string; value: ReactNode })[] = [
    next.length > 0 && { name: texts.next, value: <Texts texts={next} /> },
    cited.length > 0 && {
      name: texts.evidence,
      value: <Citations org={org} deployment={deployment} failure={failure} items={cited} />,
    },
    model.suspects.length > 0 && { name: texts.suspects, value: <Texts texts={model.suspects} /> },
    model.category && { name: texts.about, value: categoryWords[model.category] ?? model.category },
    model.confidence && {
      name: texts.confidence,
      value: texts.stated(texts.confidences[model.confidence] ?? model.confidence),
    },
  ];
  return (
    <section aria-label={texts.title} className="border-l-4 border-line pl-4">
      <h4 className="text-14 font-bold">{texts.title}</h4>
      <p className="max-w-prose text-13 wrap-anywhere text-ink2">
        {texts.author(visible(model.name), model.host)} {texts.mayBeWrong} {model.reusedFrom && texts.reused}
      </p>
      <p className="my-2 max-w-prose">
        {cause ? <Words text={cause} /> : model.enough ? texts.noCause : texts.notEnough}
      </p>
      <Facts facts={facts.filter((fact) => typeof fact === "object" && fact !== null)} />
      <PromptButton org={org} analysis={analysis} me={me} />
    </section>
  );
}

/** Text of a model: only ever a text node, isolated so that no character in it reorders what is around it. */
function Words({ text }: { text: string }) {
  return (
    <bdi dir="auto" className="whitespace-pre-wrap wrap-anywhere">
      {visible(text)}
    </bdi>
  );
}

function Texts({ texts: all }: { texts: readonly string[] }) {
  return (
    <ul className={cx("flex max-w-prose flex-col gap-1", all.length > 1 && "list-disc pl-5")}>
      {[...new Set(all)].map((text) => (
        <li key={text}>
          <Words text={text} />
        </li>
      ))}
    </ul>
  );
}
