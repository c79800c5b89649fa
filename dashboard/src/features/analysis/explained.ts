// Which analyses of a failure have to do with a model. All lists are newest first. Pure.
import type { Analysis, EvidenceItem } from "@/api/types";

const MODEL_REASONS: readonly (string | null | undefined)[] = ["model_failed", "budget_exhausted"];

type Explanations = {
  /** The newest one, unless it is `explained`: the model is called, has failed, or may not be called. */
  attempt: Analysis | undefined;
  /** The newest one that a model has answered. */
  explained: Analysis | undefined;
};

export function explanationsOf(analyses: readonly Analysis[], failure: string): Explanations {
  const own = analyses.filter((analysis) => analysis.failureId === failure && isWithModel(analysis));
  const explained = own.find(isExplained);
  return { attempt: own[0] === explained ? undefined : own[0], explained };
}

function isWithModel({ status, reason, model }: Analysis): boolean {
  return Boolean(model) || status === "analyzing" || MODEL_REASONS.includes(reason);
}

const isExplained = ({ status, model }: Analysis): boolean =>
  status === "succeeded" && typeof model?.enough === "boolean";

/** The parts of the evidence that a model refers to, in its order. */
export function citedOf(ids: readonly string[], evidence: readonly EvidenceItem[]): EvidenceItem[] {
  return ids.flatMap((id) => evidence.find((item) => item.id === id) ?? []);
}

/** The analysis whose call was sent: an explanation that is used again was sent for an earlier one. */
export const callOf = ({ id, model }: Pick<Analysis, "id" | "model">): string => model?.reusedFrom ?? id;
