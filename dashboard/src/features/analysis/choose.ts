// Which analysis of a failure is used. All lists are newest first. Pure.
import type { Analysis } from "@/api/types";

const ENDED = ["succeeded", "failed", "refused"];

/** The one that a fix refers to: one that has succeeded, else one that is still waiting for the evidence. */
export function analysisFor(analyses: readonly Analysis[], failure: string): Analysis | undefined {
  const own = analyses.filter(({ failureId }) => failureId === failure);
  return own.find(({ status }) => status === "succeeded") ?? own.find(({ status }) => !ENDED.includes(status));
}

/** The newest one that feedback can be given about. */
export function analysisForFeedback(analyses: readonly Analysis[], failure: string): Analysis | undefined {
  return analyses.find(({ failureId, status }) => failureId === failure && ENDED.includes(status));
}

type Given = { helpful: boolean; comment: string };

/** What this person has answered. */
export function feedbackBy({ feedback }: Pick<Analysis, "feedback">, user: string | undefined): Given | undefined {
  const own = feedback.find(({ by }) => by.id === user);
  return own && { helpful: own.helpful, comment: own.comment ?? "" };
}

const MAX_BYTES = 1_000;

export const isTooLong = (comment: string): boolean => new TextEncoder().encode(comment.trim()).length > MAX_BYTES;
