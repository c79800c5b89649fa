// One part of the profile.
import type { ReactNode } from "react";

export function Section({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  return (
    <section className="mb-8">
      <h2 className="text-20">{title}</h2>
      {text && <p className="text-13 text-ink2">{text}</p>}
      <div className="mt-3 flex flex-col gap-3">{children}</div>
    </section>
  );
}
