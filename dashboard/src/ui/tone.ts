// The tones of the design as classes. Tailwind finds classes by their whole names, so they are written out.

export type Tone = "green" | "blue" | "amber" | "red" | "orange" | "violet" | "gold" | "slate";

export const TONES: readonly Tone[] = ["green", "blue", "amber", "red", "orange", "violet", "gold", "slate"];

export const toneText: Record<Tone, string> = {
  green: "text-green",
  blue: "text-blue",
  amber: "text-amber",
  red: "text-red",
  orange: "text-orange",
  violet: "text-violet",
  gold: "text-gold",
  slate: "text-slate",
};

export const toneSoft: Record<Tone, string> = {
  green: "bg-green-soft text-green",
  blue: "bg-blue-soft text-blue",
  amber: "bg-amber-soft text-amber",
  red: "bg-red-soft text-red",
  orange: "bg-orange-soft text-orange",
  violet: "bg-violet-soft text-violet",
  gold: "bg-gold-soft text-gold",
  slate: "bg-slate-soft text-slate",
};

export const toneFill: Record<Tone, string> = {
  green: "bg-green",
  blue: "bg-blue",
  amber: "bg-amber",
  red: "bg-red",
  orange: "bg-orange",
  violet: "bg-violet",
  gold: "bg-gold",
  slate: "bg-slate",
};
