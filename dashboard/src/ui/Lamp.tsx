// Whether what is on the screen is live. A color alone would not tell; the word stands beside it.
import type { ReactNode } from "react";
import { cx } from "@/lib/classes";

export type LampColor = "green" | "amber" | "red" | "slate";

const COLORS: Record<LampColor, string> = { green: "bg-green", amber: "bg-amber", red: "bg-red", slate: "bg-slate" };

export function Lamp({ color, text }: { color: LampColor; text: string }) {
  return (
    <span role="status" className="inline-flex items-center gap-1.5 text-13 text-ink2">
      <span key={color} aria-hidden className={cx("glow size-2 rounded-full", COLORS[color])} />
      {text}
    </span>
  );
}

/** A bar across the page for what must not be overlooked: not live, stopped, your turn. */
export function Bar({ tone, children }: { tone: "amber" | "gold" | "red" | "violet"; children: ReactNode }) {
  const tones = {
    amber: "bg-amber-soft text-amber",
    gold: "bg-limelight text-on-limelight",
    red: "bg-red-soft text-red",
    violet: "bg-violet-soft text-violet",
  };
  return (
    <div
      role="status"
      className={cx("flex flex-wrap items-center gap-3 px-4 py-2 text-13 font-strong md:px-7", tones[tone])}
    >
      {children}
    </div>
  );
}

export function Kbd({ children }: { children: string }) {
  return <kbd className="rounded-4 border border-control bg-surface px-1.5 text-12 text-ink2">{children}</kbd>;
}
