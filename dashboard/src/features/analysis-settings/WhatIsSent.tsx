// What a model gets to read, and what it never gets.
import { settings as texts } from "@/texts/en/analysisSettings";

export function WhatIsSent() {
  return (
    <section aria-label={texts.sentTitle} className="mt-8 text-ink2">
      <h2 className="mb-1 text-16 text-ink">{texts.sentTitle}</h2>
      <ul className="list-disc pl-5">
        {texts.sent.map((part) => (
          <li key={part}>{part}</li>
        ))}
      </ul>
      <p className="mt-2 max-w-prose">{texts.notSent}</p>
      <p className="mt-2 max-w-prose">{texts.readable}</p>
    </section>
  );
}
