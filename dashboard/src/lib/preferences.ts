// Settings of this browser: theme, density, keys, cards or rows. `public/assets/theme.js` reads the first two before the
// first paint. Storage can be blocked; then a setting holds until the page is left.
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
export type Density = "auto" | "compact" | "comfortable";
export type Keys = "on" | "off";
/** How boards show environments; `auto` chooses by their number. */
export type BoardView = "auto" | "cards" | "rows";
export type Preferences = { theme: Theme; density: Density; keys: Keys; view: BoardView };

const DEFAULTS: Preferences = { theme: "system", density: "auto", keys: "on", view: "auto" };
const VALUES: { [Name in keyof Preferences]: readonly Preferences[Name][] } = {
  theme: ["system", "light", "dark"],
  density: ["auto", "compact", "comfortable"],
  keys: ["on", "off"],
  view: ["auto", "cards", "rows"],
};

const listeners = new Set<() => void>();
let current: Preferences | undefined;

function stored<Name extends keyof Preferences>(name: Name): Preferences[Name] {
  try {
    const value = localStorage.getItem(`greenroom.${name}`);
    return VALUES[name].find((known) => known === value) ?? DEFAULTS[name];
  } catch {
    return DEFAULTS[name];
  }
}

function read(): Preferences {
  current ??= {
    theme: stored("theme"),
    density: stored("density"),
    keys: stored("keys"),
    view: stored("view"),
  };
  return current;
}

export function setPreference<Name extends keyof Preferences>(name: Name, value: Preferences[Name]): void {
  try {
    localStorage.setItem(`greenroom.${name}`, value);
  } catch {
    // Storage is blocked: the setting holds until the page is left.
  }
  current = { ...read(), [name]: value };
  apply();
  for (const listener of listeners) listener();
}

/** Writes theme and density to the document, where the styles read them. */
export function apply(): void {
  const { theme, density } = read();
  const isDark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  document.documentElement.dataset.density = density;
}

/** Follows the theme of the system, and settings that another tab has changed. */
export function watchPreferences(): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  addEventListener("storage", (event) => {
    if (event.key && !event.key.startsWith("greenroom.")) return;
    current = undefined;
    apply();
    for (const listener of listeners) listener();
  });
}

export function usePreferences(): Preferences {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, read);
}
