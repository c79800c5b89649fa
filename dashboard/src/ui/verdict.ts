// Whose failure it is: tone, icon and word. Apart from `state.ts`, because few screens need it.
import {
  CircleDashed,
  CircleQuestionMark,
  type LucideIcon,
  Server,
  Shuffle,
  Star,
  TriangleAlert,
  User,
  Users,
} from "lucide-react";
import { verdictWords } from "@/texts/en/failure";
import type { State } from "./state";
import type { Tone } from "./tone";

export type VerdictState = keyof typeof verdictWords;

const LOOKS: Record<VerdictState, [tone: Tone, icon: LucideIcon]> = {
  yours: ["red", User],
  not_only_you: ["blue", Users],
  flaky: ["violet", Shuffle],
  environment: ["amber", Server],
  platform: ["orange", TriangleAlert],
  unknown: ["slate", CircleQuestionMark],
};

/** `mine`: the reader has started the deployment, so that "yours" is true. */
export function verdictState(kind: string, mine = false): State {
  if (!Object.hasOwn(LOOKS, kind)) return { tone: "slate", icon: CircleDashed, word: kind };
  const [tone, icon] = LOOKS[kind as VerdictState];
  const words = verdictWords[kind as VerdictState];
  return kind === "yours" && mine
    ? { tone: "gold", icon: Star, word: words.mine }
    : { tone, icon, word: mine ? words.mine : words.other };
}

export const VERDICTS = Object.keys(LOOKS) as VerdictState[];
