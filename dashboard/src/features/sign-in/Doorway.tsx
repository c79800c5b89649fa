// The frame of the pages before sign-in: on wide screens a dark doorway fills the left half.
import type { ReactNode } from "react";
import { shell } from "@/texts/en/shell";
import { signIn as texts } from "@/texts/en/sign-in";

export function Doorway({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="grid min-h-dvh lg:grid-cols-2">
      <div className="relative flex flex-col justify-end overflow-hidden bg-[#0d1210] max-lg:hidden">
        {/* An open door: the light of the stage falls through it. */}
        <svg
          viewBox="0 0 720 900"
          aria-hidden="true"
          preserveAspectRatio="xMidYMax slice"
          className="absolute inset-0 size-full"
        >
          <defs>
            <linearGradient id="doorway-light" x1="0" y1="0" x2="0" y2="1">
              <stop offset="0" stopColor="#f0cf57" stopOpacity="0.95" />
              <stop offset="1" stopColor="#f0cf57" stopOpacity="0.55" />
            </linearGradient>
            <linearGradient id="doorway-floor" x1="0" y1="0" x2="0" y2="1">
              <stop offset="0" stopColor="#f0cf57" stopOpacity="0.32" />
              <stop offset="1" stopColor="#f0cf57" stopOpacity="0" />
            </linearGradient>
          </defs>
          <path d="M0 700h720v200H0z" fill="#090d0b" />
          <path d="M300 700h180l120 200H180z" fill="url(#doorway-floor)" />
          <path d="M300 240h150l30 30v430H300z" fill="url(#doorway-light)" />
          <path d="M300 240l-110 34v460l110-34z" fill="#17543a" />
          <path d="M300 240l-110 34v460l110-34z" fill="none" stroke="#7fddb0" strokeOpacity="0.5" strokeWidth="2" />
          <circle cx="208" cy="500" r="7" fill="#7fddb0" />
        </svg>
        <p className="relative max-w-[22ch] p-12 font-display text-28 text-[#edf0ea]">{texts.motto}</p>
      </div>
      <main className="flex flex-col justify-center px-4 py-8 md:px-12">
        <div className="door mx-auto flex w-full max-w-sm flex-col gap-4 border border-line bg-raised p-6">
          <p className="font-display text-16 font-title text-brand">{shell.product}</p>
          <h1 className="text-28">{title}</h1>
          {children}
        </div>
      </main>
    </div>
  );
}
