// A door with a name plate: an empty doorway while it is free, filled while it is held, in the limelight while
// it is yours. The card lays out its parts; what stands in them is the feature's.
import type { ReactNode } from "react";
import { cx } from "@/lib/classes";
import { Badge } from "./Badge";
import type { State } from "./state";

export type Door = "free" | "held" | "yours";

const DOORS: Record<Door, string> = {
  free: "border-dashed border-control bg-transparent",
  held: "border-line bg-raised",
  yours: "limelit",
};

type Props = {
  door: Door;
  name: string;
  title: ReactNode;
  state: State;
  who: ReactNode;
  context?: string | null;
  lease?: ReactNode;
  deployment?: ReactNode;
  actions?: ReactNode;
  /** The state has just changed: the card glows once. */
  changed?: boolean;
  /** The card is the head of a page, and its name the page's title. */
  page?: boolean;
};

export function DoorCard({
  door,
  name,
  title,
  state,
  who,
  context,
  lease,
  deployment,
  actions,
  changed = false,
  page = false,
}: Props) {
  const Name = page ? "h1" : "h2";
  return (
    <article
      aria-label={`${name}, ${state.word}`}
      data-door={door}
      className={cx("door flex h-full min-w-0 flex-col gap-1.5 border px-3.5 py-3", DOORS[door], changed && "glow")}
    >
      <header className="flex items-center gap-2">
        <Name className={cx("min-w-0 flex-1 truncate", page ? "text-28" : "text-20")} title={name}>
          {title}
        </Name>
        <Badge state={state} />
      </header>
      <div className="min-h-6">{who}</div>
      <p className="min-h-5 truncate text-ink2" title={context ?? undefined}>
        {context}
      </p>
      <div className="min-h-[30px]">{lease}</div>
      <div className="mt-0.5 flex min-h-7 items-center gap-2 overflow-hidden border-t border-line pt-2 whitespace-nowrap">
        {deployment}
      </div>
      <footer className="mt-auto flex min-h-row flex-wrap items-center gap-1.5 max-md:*:flex-1">{actions}</footer>
    </article>
  );
}

/** The line below a fader: what is left, and when it ends. */
export function LeaseLine({ left, right, low = false }: { left: ReactNode; right: ReactNode; low?: boolean }) {
  return (
    <div className="mt-1 flex justify-between gap-2 font-mono text-12 text-ink3 tabular-nums">
      <span className={cx(low && "font-bold text-amber")}>{left}</span>
      <span className="truncate">{right}</span>
    </div>
  );
}
