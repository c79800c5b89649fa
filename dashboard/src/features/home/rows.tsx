// Sections and rows of the home page.
import type { ReactNode } from "react";
import { ago } from "@/texts/en/time";
import { Link } from "@/ui/Link";

export function Section({ title, action, children }: { title: string; action?: ReactNode; children: ReactNode }) {
  return (
    <section className="mb-8">
      <div className="mb-2 flex items-center justify-between gap-3">
        <h2 className="text-16">{title}</h2>
        {action}
      </div>
      {children}
    </section>
  );
}

export function Row({ to, children }: { to: string; children: ReactNode }) {
  return (
    <Link to={to} className="flex min-h-row items-center gap-3 border-b border-line px-2 hover:bg-surface">
      {children}
    </Link>
  );
}

export function Ago({ time, now }: { time: number | undefined; now: number }) {
  return (
    time !== undefined && (
      <span className="shrink-0 text-13 text-ink3 tabular-nums max-md:ml-auto">{ago(time, now)}</span>
    )
  );
}
