// What is wrong with a registry, and what to do about it.
import { TriangleAlert } from "lucide-react";
import type { StepRegistry } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { registry as texts } from "@/texts/en/stepRegistry";
import { day } from "@/texts/en/time";
import { Quoted, sentence } from "./Quoted";
import { problemsOf } from "./refusals";

export function RegistryBar({ registry }: { registry: StepRegistry }) {
  const deletedAt = timeOf(registry.deletedAt);
  if (deletedAt !== undefined)
    return <p className="mb-4 rounded-6 bg-slate-soft px-3 py-2 text-slate">{texts.deletedText(day(deletedAt))}</p>;
  if (registry.status === "disabled")
    return (
      <div className="mb-4 rounded-6 bg-slate-soft px-3 py-2 text-slate">
        <h2 className="text-16">{texts.disabledTitle}</h2>
        <p className="max-w-prose">{texts.disabledText}</p>
      </div>
    );
  const problems = problemsOf(registry);
  if (registry.status !== "degraded") return null;
  return (
    <section
      aria-label={texts.degradedTitle}
      className="mb-4 flex gap-3 rounded-6 border border-amber bg-amber-soft px-3 py-2.5"
    >
      <TriangleAlert aria-hidden size={20} className="mt-0.5 shrink-0 text-amber" />
      <div className="min-w-0">
        <h2 className="text-16 text-amber">{texts.degradedTitle}</h2>
        <ul className="mt-1 flex max-w-prose flex-col gap-1">
          {problems.map(({ tag, text }, index) => (
            <li key={`${tag ?? ""}-${index}`} className="wrap-anywhere">
              {tag && <code className="mr-1 text-12 font-bold">{tag}:</code>}
              <Quoted text={tag ? text : sentence(text)} />
            </li>
          ))}
        </ul>
        <p className="mt-2 max-w-prose text-13 text-ink2">
          {problems.some(({ tag }) => tag) ? texts.degradedTagText : texts.degradedText}
        </p>
      </div>
    </section>
  );
}
