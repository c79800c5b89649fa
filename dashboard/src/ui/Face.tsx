// Who did it: a person is round, CI is square, an agent is a diamond; the kind also stands as a word.
import { cx } from "@/lib/classes";
import { initials } from "@/lib/ids";
import { common } from "@/texts/en/common";

export type Kind = "user" | "ci" | "agent";

type Props = { name: string; kind: Kind | string; mine?: boolean };

const SHAPES: Record<string, string> = {
  user: "rounded-full",
  ci: "rounded-4",
  agent: "rounded-4 rotate-45 scale-[0.8]",
};

/** The face alone. It says nothing that the name beside it does not say. */
export function Face({ name, kind, mine = false }: Props) {
  return (
    <span
      aria-hidden
      className={cx(
        "inline-grid size-6 shrink-0 place-items-center text-[10px] leading-none font-title select-none",
        SHAPES[kind] ?? SHAPES.user,
        mine ? "bg-limelight text-on-limelight" : "bg-slate-soft text-slate",
      )}
    >
      <span className={cx(kind === "agent" && "-rotate-45")}>{initials(name)}</span>
    </span>
  );
}

export function Who({ name, kind, mine = false }: Props) {
  const word = kind === "user" ? undefined : (common.kinds[kind as Kind] ?? kind);
  return (
    <span className="flex min-h-6 min-w-0 items-center gap-2 font-strong">
      <Face name={name} kind={kind} mine={mine} />
      <span className="truncate" title={name}>
        {mine ? common.you(name) : name}
      </span>
      {word && (
        <span className="shrink-0 rounded-4 border border-control px-1.5 font-mono text-12 font-body text-ink2">
          {word}
        </span>
      )}
    </span>
  );
}
