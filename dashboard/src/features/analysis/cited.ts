// One line for each part of the evidence that a model refers to. Pure.
import type { EvidenceItem, FailureEvidence } from "@/api/types";

export type Line = {
  /** From 1 on; `undefined` if the text is not a line of the log. */
  number: number | undefined;
  text: string;
  /** How many lines the part has besides. */
  others: number;
};

/** The decisive line if it is in the part, else its first line. */
export function lineOf(item: EvidenceItem, failure: Pick<FailureEvidence, "decisive" | "decisiveLine">): Line {
  const lines = item.text.split("\n");
  const decisive = item.id === failure.decisive ? failure.decisiveLine : undefined;
  const [number, text] = decisive ? [decisive.line, decisive.text] : [item.fromLine, lines[0] ?? ""];
  return { number: number > 0 ? number : undefined, text, others: lines.length - 1 };
}
