// The parts of a log as rows, in the order of the log. Pure.
import type { EvidenceItem, FailureEvidence } from "@/api/types";
import { visible } from "@/lib/visible";

export type Row = {
  key: string;
  /** From 1 on; `undefined` if the text is not a line of the log. */
  number: number | undefined;
  text: string;
  isDecisive: boolean;
  /** How many lines of the log are like it, if it is more than this one. */
  like: number | undefined;
  /** Lines of the log before it are left out. */
  isAfterGap: boolean;
};

type Evidence = Pick<FailureEvidence, "evidence" | "decisive" | "decisiveLine">;

export function rowsOf({ evidence, decisive, decisiveLine }: Evidence): Row[] {
  const rows: Row[] = [];
  let last: number | undefined;
  for (const item of evidence.toSorted((a, b) => a.fromLine - b.fromLine)) {
    const texts = item.text.split("\n");
    texts.forEach((text, index) => {
      const number = numberOf(item, index, texts.length);
      rows.push({
        key: `${item.id} ${index}`,
        number,
        text: visible(text),
        isDecisive: item.id === decisive && isDecisiveLine(decisiveLine, number, index),
        like: index === 0 && item.repeats > 1 ? item.repeats : undefined,
        isAfterGap: index === 0 && last !== undefined && item.fromLine > last + 1,
      });
    });
    last = item.toLine;
  }
  return rows;
}

function isDecisiveLine(decisive: FailureEvidence["decisiveLine"], number: number | undefined, index: number): boolean {
  return decisive && decisive.line > 0 ? decisive.line === number : index === 0;
}

/** The lines of an item are consecutive. If there are fewer texts than lines, only the number of the first is certain. */
function numberOf({ fromLine, toLine }: EvidenceItem, index: number, texts: number): number | undefined {
  if (fromLine === 0) return undefined;
  return index === 0 || toLine - fromLine + 1 === texts ? fromLine + index : undefined;
}

export const SIZES = [10, 40, 200] as const;

/** The next larger number of lines, if there are more than those shown. */
export function nextSize(size: number, omitted: number): number | undefined {
  return omitted > 0 ? SIZES.find((next) => next > size) : undefined;
}

/** Silence up to this long is normal, unless the step timed out. */
const NORMAL_SILENCE = 60;

/** The seconds without output, if they say something about the failure. */
export function silenceOf({ category, log }: Pick<FailureEvidence, "category" | "log">): number | undefined {
  if (!log || log.silentSeconds === 0) return undefined;
  return category === "timeout" || log.silentSeconds >= NORMAL_SILENCE ? log.silentSeconds : undefined;
}
