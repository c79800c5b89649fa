// What a failure is called, and how it is explained. Pure.
import { Problem } from "@/api/problem";
import { problem as texts } from "@/texts/en/problem";
import type { Failure } from "@/ui/ErrorPanel";

/** The server's own explanation, unless there is none. */
export function describe(error: unknown): Failure {
  if (!(error instanceof Problem)) return texts.unexpected;
  const isUnread = error.kind === "uncertain" && !error.isOfChange;
  const { title, text } = texts[isUnread ? "unread" : error.kind];
  // The detail of a missing record is about ids and tokens, that of an uncertain result about headers: for programs.
  const isForPrograms = error.kind === "missing" || error.kind === "uncertain";
  const hasDetail = error.status > 0 && !isForPrograms && typeof error.body.detail === "string";
  return {
    title: error.kind === "conflict" && error.title ? error.title : title,
    text: hasDetail ? error.message : text,
    code: error.status > 0 ? error.code : undefined,
    requestId: error.requestId,
    refused: error.kind === "refused",
  };
}
