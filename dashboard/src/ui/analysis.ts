// The status of an analysis: tone, icon and label. Apart from `state.ts`, because few screens need it.
import { CircleCheck, CircleDashed, CircleSlash, CircleX, LoaderCircle, type LucideIcon } from "lucide-react";
import { analysisWords } from "@/texts/en/analysis";
import type { State } from "./state";
import type { Tone } from "./tone";

export type AnalysisState = keyof typeof analysisWords;

const LOOKS: Record<AnalysisState, [tone: Tone, icon: LucideIcon]> = {
  queued: ["slate", CircleDashed],
  collecting: ["blue", LoaderCircle],
  analyzing: ["blue", LoaderCircle],
  succeeded: ["green", CircleCheck],
  failed: ["red", CircleX],
  refused: ["amber", CircleSlash],
};

export function analysisState(status: string): State {
  if (!Object.hasOwn(LOOKS, status)) return { tone: "slate", icon: CircleDashed, word: status };
  const [tone, icon] = LOOKS[status as AnalysisState];
  return { tone, icon, word: analysisWords[status as AnalysisState], turning: icon === LoaderCircle };
}

export const ANALYSIS_STATES = Object.keys(LOOKS).map(analysisState);
