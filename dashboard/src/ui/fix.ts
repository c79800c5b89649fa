// The status of a fix: tone, icon and label. Apart from `state.ts`, because few screens need it.
import {
  CircleDashed,
  CircleSlash,
  CircleX,
  GitMerge,
  GitPullRequest,
  GitPullRequestClosed,
  Hourglass,
  LoaderCircle,
  type LucideIcon,
} from "lucide-react";
import { fixWords } from "@/texts/en/fix";
import type { State } from "./state";
import type { Tone } from "./tone";

export type FixState = keyof typeof fixWords;

const LOOKS: Record<FixState, [tone: Tone, icon: LucideIcon]> = {
  queued: ["slate", CircleDashed],
  waiting: ["amber", Hourglass],
  reproducing: ["blue", LoaderCircle],
  verifying: ["blue", LoaderCircle],
  opening: ["blue", LoaderCircle],
  opened: ["green", GitPullRequest],
  merged: ["green", GitMerge],
  closed: ["slate", GitPullRequestClosed],
  refused: ["amber", CircleSlash],
  failed: ["red", CircleX],
  canceled: ["slate", CircleSlash],
};

export function fixState(status: string): State {
  if (!Object.hasOwn(LOOKS, status)) return { tone: "slate", icon: CircleDashed, word: status };
  const [tone, icon] = LOOKS[status as FixState];
  return { tone, icon, word: fixWords[status as FixState], turning: icon === LoaderCircle };
}

export const FIX_STATES = Object.keys(LOOKS).map(fixState);
