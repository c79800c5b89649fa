// A state as a pill, or as an icon with its word in a line of text.
import { cx } from "@/lib/classes";
import type { State } from "./state";
import { toneSoft, toneText } from "./tone";

function StateIcon({ state, size }: { state: State; size: number }) {
  const Icon = state.icon;
  return <Icon aria-hidden size={size} strokeWidth={2.25} className={cx("shrink-0", state.turning && "turning")} />;
}

export function Badge({ state }: { state: State }) {
  return (
    <span
      className={cx(
        "inline-flex shrink-0 items-center gap-1 rounded-full py-[3px] pr-2 pl-1.5 text-13 leading-4 font-bold whitespace-nowrap",
        toneSoft[state.tone],
      )}
    >
      <StateIcon state={state} size={14} />
      {state.word}
    </span>
  );
}

/** `word` replaces the state's own word, such as `Deployed` for a deployment that has succeeded. */
export function StateMark({ state, word }: { state: State; word?: string }) {
  return (
    <span
      className={cx(
        "inline-flex min-w-0 items-center gap-1.5 align-middle font-strong whitespace-nowrap",
        toneText[state.tone],
      )}
    >
      <StateIcon state={state} size={16} />
      {word ?? state.word}
    </span>
  );
}
