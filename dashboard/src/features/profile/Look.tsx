// Theme, density and keys. They are settings of this browser.
import type { ReactNode } from "react";
import { type Density, type Keys, setPreference, type Theme, usePreferences } from "@/lib/preferences";
import { profile as texts } from "@/texts/en/profile";
import { shell } from "@/texts/en/shell";
import { Segments } from "@/ui/Segments";
import { Section } from "./Section";

const THEMES: readonly Theme[] = ["system", "light", "dark"];
const DENSITIES: readonly Density[] = ["auto", "compact", "comfortable"];
const KEYS: readonly Keys[] = ["on", "off"];

export function Look() {
  const { theme, density, keys } = usePreferences();
  return (
    <Section title={texts.look} text={texts.lookText}>
      <Choice label={texts.theme}>
        <Segments
          label={texts.theme}
          value={theme}
          onChange={(value) => setPreference("theme", value)}
          segments={THEMES.map((value) => ({ value, label: shell.themes[value] }))}
        />
      </Choice>
      <Choice label={texts.density}>
        <Segments
          label={texts.density}
          value={density}
          onChange={(value) => setPreference("density", value)}
          segments={DENSITIES.map((value) => ({ value, label: shell.densities[value] }))}
        />
      </Choice>
      <Choice label={texts.keys}>
        <Segments
          label={texts.keys}
          value={keys}
          onChange={(value) => setPreference("keys", value)}
          segments={KEYS.map((value) => ({ value, label: shell.keyNames[value] }))}
        />
      </Choice>
    </Section>
  );
}

function Choice({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
      <span aria-hidden className="w-44 text-13 font-strong">
        {label}
      </span>
      {children}
    </div>
  );
}
